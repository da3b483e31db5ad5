/* qgc docs and qgc completion: what follows from the tables. */
#include "output.h"

#include <string.h>

static void write_page(FILE *out, const void *page)
{
    qgc_docs_write(page, out);
}

static int write_pages(invocation *call, const char *directory)
{
    for (size_t i = 0; qgc_docs_page(i); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.md", directory, qgc_docs_page(i));
        if (write_output(call, path, write_page, qgc_docs_page(i)) != QGC_OK)
            return fail(call);
    }
    return EXIT_DONE;
}

int run_docs(invocation *call)
{
    const char *directory = get_option(call, "-o");
    if (directory)
        return write_pages(call, directory);
    if (!call->num_files) {
        for (size_t i = 0; qgc_docs_page(i); i++)
            printf("%s\n", qgc_docs_page(i));
        return EXIT_DONE;
    }
    if (qgc_docs_write(call->files[0], stdout) == QGC_OK)
        return EXIT_DONE;
    qgc_context_usage_error(call->context, "no page '%s'; `qgc docs` lists them", call->files[0]);
    return fail(call);
}

static void print_words(const option *options)
{
    for (; options->name; options++)
        printf(" %s%s", options->name, options->value && options->name[1] == '-' ? "=" : "");
}

int run_completion(invocation *call)
{
    (void)call;
    printf("# bash completion for qgc: source <(qgc completion)\n_qgc()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words\n    case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < num_commands; i++) {
        printf("    %s) words=\"", commands[i].name);
        print_words(commands[i].options);
        print_words(common_options);
        printf("\" ;;\n");
    }
    printf("    *) words=\"--help --version\" ;;\n    esac\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"");
    for (int i = 0; i < num_commands; i++)
        printf("%s ", commands[i].name);
    printf("--help --version\"; fi\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
           "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n}\n"
           "complete -o filenames -F _qgc qgc\n");
    return EXIT_DONE;
}
