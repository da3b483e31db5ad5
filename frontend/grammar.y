// The grammar of modules, rules files and backend patterns; docs/ir.md describes it for users.
// Actions are one call into build.c. One start symbol per kind of text: the first token chooses.
%token_prefix QGC_TOK_
%name qgc_grammar
%token_type {qgc_token}
%extra_context {qgc_builder *b}
%stack_size 500
%include {
#include "frontend/build.h"
}

// Reported once per statement: the rules with `error` skip to the end of the line.
%syntax_error { qgc_build_syntax_error(b, yymajor, &TOKEN); }
%stack_overflow { qgc_build_too_deep(b); }
%parse_failure { qgc_build_parse_failure(b); }

%type expr {qgc_ast *}
%type atom {qgc_ast *}
%type value {qgc_ast *}
%type map {qgc_ast *}
%type exprs {qgc_ast_list}
%type exprs_opt {qgc_ast_list}
%type values {qgc_ast_list}
%type values_opt {qgc_ast_list}
%type pairs {qgc_ast_list}
%type args {qgc_ast_list}
%type operands {qgc_ast_list}
%type operand {qgc_ast *}
%type results {qgc_ast_list}
%type params {qgc_ast_list}
%type params_opt {qgc_ast_list}
%type types {qgc_ast_list}
%type attrs {qgc_ast *}
%type scope {qgc_token}
%type target {qgc_token}
%type words {qgc_ast_list}
%type actions {qgc_ast_list}
%type action {qgc_ast *}
%type where {qgc_ast_list}
%type names {qgc_ast_list}
%type pargs {qgc_ast_list}
%type parg {qgc_ast *}
%type alternatives {qgc_ast_list}
%type alternative {qgc_ast *}
%type steps {qgc_ast_list}
%type step {qgc_ast *}
%type step_ops {qgc_ast_list}
%type step_ports_opt {qgc_ast_list}
%type step_ports {qgc_ast_list}
%type step_port {qgc_ast *}

%left ARROW.
%left PLUS MINUS.
%left STAR SLASH.
%right NEGATE.

start ::= START_MODULE items.
start ::= START_RULES rules.
start ::= START_PATTERN patterns.

// ---- modules ----
items ::= .
items ::= items item.
item ::= NEWLINE.
item ::= error NEWLINE.
item ::= WEIGHTS STRING(P) NEWLINE.                          { qgc_build_weights(b, NULL, &P); }
item ::= WEIGHTS IDENT(S) STRING(H) NEWLINE.                 { qgc_build_weights(b, &S, &H); }
item ::= FORM IDENT(F) NEWLINE.                              { qgc_build_form(b, &F); }
item ::= PROVENANCE map(M) NEWLINE.                          { qgc_build_provenance(b, M); }
item ::= STATS AT(F) DOT VALUE(V) map(M) NEWLINE.            { qgc_build_stats(b, &F, &V, NULL, NULL, M); }
item ::= STATS AT(F) DOT VALUE(V) IDENT(W) VALUE(S) map(M) NEWLINE. { qgc_build_stats(b, &F, &V, &W, &S, M); }
item ::= func_head statements RBRACE NEWLINE.                { qgc_build_func_end(b); }

func_head ::= FUNC AT(N) LPAREN params_opt(P) RPAREN ARROW LPAREN exprs_opt(R) RPAREN target(T) LBRACE NEWLINE.
                                                             { qgc_build_func(b, &N, P, R, &T); }
target(A) ::= .                                              { A = (qgc_token){0}; }
target(A) ::= IDENT(W) LPAREN STRING(S) RPAREN.              { A = qgc_build_target(b, &W, &S); }
params_opt(A) ::= .                                          { A = (qgc_ast_list){0}; }
params_opt(A) ::= params(P).                                 { A = P; }
params(A) ::= VALUE(N) COLON expr(T).                        { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_pair(b, &N, T)); }
params(A) ::= params(L) COMMA VALUE(N) COLON expr(T).        { A = qgc_ast_append(L, qgc_ast_pair(b, &N, T)); }

statements ::= .
statements ::= statements statement.
statement ::= NEWLINE.
statement ::= error NEWLINE.
statement ::= results(R) EQUAL error NEWLINE.                { qgc_build_failed_statement(b, R); }
statement ::= results(R) EQUAL IDENT(O) args(A) attrs(M) types(T) scope(S) NEWLINE. { qgc_build_statement(b, R, &O, A, M, T, &S); }
statement ::= IDENT(O) args(A) attrs(M) types(T) scope(S) NEWLINE.  { qgc_build_statement(b, (qgc_ast_list){0}, &O, A, M, T, &S); }

results(A) ::= VALUE(V).                                     { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_leaf(b, QGC_AST_VALUE, &V)); }
results(A) ::= results(L) COMMA VALUE(V).                    { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_VALUE, &V)); }
args(A) ::= exprs_opt(L).                                    { A = L; }
// `call @f %a, %b`: no comma after the function.
args(A) ::= AT(F) operands(L).                               { A = qgc_ast_prepend(qgc_ast_leaf(b, QGC_AST_FUNC, &F), L); }
operands(A) ::= operand(E).                                  { A = qgc_ast_append((qgc_ast_list){0}, E); }
operands(A) ::= operands(L) COMMA operand(E).                { A = qgc_ast_append(L, E); }
operand(A) ::= VALUE(T).                                     { A = qgc_ast_leaf(b, QGC_AST_VALUE, &T); }
operand(A) ::= UNDERSCORE(T).                                { A = qgc_ast_leaf(b, QGC_AST_ABSENT, &T); }
operand(A) ::= LBRACKET(T) values_opt(L) RBRACKET(E).        { A = qgc_ast_group(b, QGC_AST_LIST, &T, L, &E); }
attrs(A) ::= .                                               { A = NULL; }
attrs(A) ::= map(M).                                         { A = M; }
types(A) ::= .                                               { A = (qgc_ast_list){0}; }
types(A) ::= COLON exprs(L).                                 { A = L; }
scope(A) ::= .                                               { A = (qgc_token){0}; }
scope(A) ::= SCOPE(S).                                       { A = S; }

// ---- expressions ----
exprs_opt(A) ::= .                                           { A = (qgc_ast_list){0}; }
exprs_opt(A) ::= exprs(L).                                   { A = L; }
exprs(A) ::= expr(E).                                        { A = qgc_ast_append((qgc_ast_list){0}, E); }
exprs(A) ::= exprs(L) COMMA expr(E).                         { A = qgc_ast_append(L, E); }
expr(A) ::= atom(E).                                         { A = E; }
expr(A) ::= expr(L) PLUS(O) expr(R).                         { A = qgc_ast_binary(b, &O, L, R); }
expr(A) ::= expr(L) MINUS(O) expr(R).                        { A = qgc_ast_binary(b, &O, L, R); }
expr(A) ::= expr(L) STAR(O) expr(R).                         { A = qgc_ast_binary(b, &O, L, R); }
expr(A) ::= expr(L) SLASH(O) expr(R).                        { A = qgc_ast_binary(b, &O, L, R); }
expr(A) ::= expr(L) ARROW(O) expr(R).                        { A = qgc_ast_binary(b, &O, L, R); }
expr(A) ::= MINUS(O) expr(E). [NEGATE]                       { A = qgc_ast_negate(b, &O, E); }
atom(A) ::= LPAREN expr(E) RPAREN.                           { A = E; }
atom(A) ::= INT(T).                                          { A = qgc_ast_leaf(b, QGC_AST_INT, &T); }
atom(A) ::= FLOAT(T).                                        { A = qgc_ast_leaf(b, QGC_AST_FLOAT, &T); }
atom(A) ::= STRING(T).                                       { A = qgc_ast_leaf(b, QGC_AST_STRING, &T); }
atom(A) ::= IDENT(T).                                        { A = qgc_ast_leaf(b, QGC_AST_IDENT, &T); }
atom(A) ::= VALUE(T).                                        { A = qgc_ast_leaf(b, QGC_AST_VALUE, &T); }
atom(A) ::= AT(T).                                           { A = qgc_ast_leaf(b, QGC_AST_FUNC, &T); }
atom(A) ::= UNDERSCORE(T).                                   { A = qgc_ast_leaf(b, QGC_AST_ABSENT, &T); }
atom(A) ::= QUESTION(T).                                     { A = qgc_ast_leaf(b, QGC_AST_UNKNOWN, &T); }
atom(A) ::= IDENT(T) LPAREN exprs_opt(L) RPAREN(E).          { A = qgc_ast_group(b, QGC_AST_CALL, &T, L, &E); }
atom(A) ::= IDENT(T) LBRACKET exprs_opt(L) RBRACKET(E).      { A = qgc_ast_group(b, QGC_AST_INDEX, &T, L, &E); }
atom(A) ::= LBRACKET(T) values_opt(L) RBRACKET(E).           { A = qgc_ast_group(b, QGC_AST_LIST, &T, L, &E); }
value(A) ::= expr(E).                                        { A = E; }
value(A) ::= map(M).                                         { A = M; }
values_opt(A) ::= .                                          { A = (qgc_ast_list){0}; }
values_opt(A) ::= values(L).                                 { A = L; }
values(A) ::= value(E).                                      { A = qgc_ast_append((qgc_ast_list){0}, E); }
values(A) ::= values(L) COMMA value(E).                      { A = qgc_ast_append(L, E); }
map(A) ::= LBRACE(T) RBRACE(E).                              { A = qgc_ast_group(b, QGC_AST_MAP, &T, (qgc_ast_list){0}, &E); }
map(A) ::= LBRACE(T) pairs(L) RBRACE(E).                     { A = qgc_ast_group(b, QGC_AST_MAP, &T, L, &E); }
pairs(A) ::= IDENT(N) EQUAL value(V).                        { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_pair(b, &N, V)); }
pairs(A) ::= pairs(L) COMMA IDENT(N) EQUAL value(V).         { A = qgc_ast_append(L, qgc_ast_pair(b, &N, V)); }

// ---- rules files ----
rules ::= .
rules ::= rules rule.
rule ::= NEWLINE.
rule ::= error NEWLINE.
rule ::= words(W) NEWLINE.                                   { qgc_build_rule(b, W, (qgc_ast_list){0}); }
rule ::= words(W) FATARROW actions(L) NEWLINE.               { qgc_build_rule(b, W, L); }
words(A) ::= IDENT(T).                                       { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
words(A) ::= words(L) IDENT(T).                              { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
words(A) ::= words(L) STRING(T).                             { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_STRING, &T)); }
words(A) ::= words(L) INT(T).                                { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_INT, &T)); }
words(A) ::= words(L) FLOAT(T).                              { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_FLOAT, &T)); }
actions(A) ::= action(E).                                    { A = qgc_ast_append((qgc_ast_list){0}, E); }
actions(A) ::= actions(L) COMMA action(E).                   { A = qgc_ast_append(L, E); }
action(A) ::= expr(E).                                       { A = E; }
// `weight i8`: a port and its spec. `in [i16, i8]` parses as an index and is told apart in build_rules.c.
action(A) ::= IDENT(P) IDENT(T).                             { A = qgc_ast_pair(b, &P, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
action(A) ::= IDENT(P) IDENT(T) LPAREN exprs_opt(L) RPAREN(E).     { A = qgc_ast_pair(b, &P, qgc_ast_group(b, QGC_AST_CALL, &T, L, &E)); }
action(A) ::= IDENT(P) IDENT(T) LBRACKET exprs_opt(L) RBRACKET(E). { A = qgc_ast_pair(b, &P, qgc_ast_group(b, QGC_AST_INDEX, &T, L, &E)); }

// ---- backend patterns ----
patterns ::= .
patterns ::= patterns pattern.
pattern ::= NEWLINE.
pattern ::= error NEWLINE.
pattern ::= CLAIM claimed(O) LPAREN pargs(P) RPAREN where(W) BENEFIT INT(N) NEWLINE. { qgc_build_claim(b, &O, P, W, &N); }
pattern ::= CLAIM claimed(O) LPAREN pargs(P) RPAREN where(W) NEWLINE.             { qgc_build_claim(b, &O, P, W, NULL); }
// Quantizer tables: named specs, and chains of ops with the specs of their ports.
pattern ::= SPEC IDENT(N) EQUAL expr(E) NEWLINE.             { qgc_build_table_spec(b, &N, E); }
pattern ::= TAKE(K) steps(S) where(W) NEWLINE.               { qgc_build_take(b, &K, S, W); }
pattern ::= SWEEP(K) steps(S) where(W) NEWLINE.              { qgc_build_take(b, &K, S, W); }
steps(A) ::= step(E).                                        { A = qgc_ast_append((qgc_ast_list){0}, E); }
steps(A) ::= steps(L) ARROW step(E).                         { A = qgc_ast_append(L, E); }
step(A) ::= step_ops(O) LPAREN(T) step_ports_opt(P) RPAREN(E). { A = qgc_build_step(b, &T, O, P, &E); }
step_ops(A) ::= claimed(T).                                  { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
step_ops(A) ::= step_ops(L) PIPE claimed(T).                 { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
step_ports_opt(A) ::= .                                      { A = (qgc_ast_list){0}; }
step_ports_opt(A) ::= step_ports(L).                         { A = L; }
step_ports(A) ::= step_port(E).                              { A = qgc_ast_append((qgc_ast_list){0}, E); }
step_ports(A) ::= step_ports(L) COMMA step_port(E).          { A = qgc_ast_append(L, E); }
step_port(A) ::= IDENT(N) COLON expr(E).                     { A = qgc_ast_pair(b, &N, E); }
claimed(A) ::= IDENT(T).                                     { A = T; }
claimed(A) ::= WHERE(T).                                     { A = T; } // an op of this name
where(A) ::= .                                               { A = (qgc_ast_list){0}; }
where(A) ::= WHERE names(L).                                 { A = L; }
names(A) ::= IDENT(T).                                       { A = qgc_ast_append((qgc_ast_list){0}, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
names(A) ::= names(L) COMMA IDENT(T).                        { A = qgc_ast_append(L, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
pargs(A) ::= parg(E).                                        { A = qgc_ast_append((qgc_ast_list){0}, E); }
pargs(A) ::= pargs(L) COMMA parg(E).                         { A = qgc_ast_append(L, E); }
parg(A) ::= IDENT(T).                                        { A = qgc_ast_leaf(b, QGC_AST_IDENT, &T); }
parg(A) ::= IDENT(T) QUESTION(Q).                            { A = qgc_ast_group(b, QGC_AST_CALL, &T, (qgc_ast_list){0}, &Q); }
parg(A) ::= IDENT(T) COLON alternatives(L).                  { A = qgc_ast_group(b, QGC_AST_NAMED, &T, L, &T); }
alternatives(A) ::= alternative(E).                          { A = qgc_ast_append((qgc_ast_list){0}, E); }
alternatives(A) ::= alternatives(L) PIPE alternative(E).     { A = qgc_ast_append(L, E); }
alternative(A) ::= IDENT(T).                                 { A = qgc_ast_leaf(b, QGC_AST_IDENT, &T); }
alternative(A) ::= IDENT(C) IDENT(T).                        { A = qgc_ast_pair(b, &C, qgc_ast_leaf(b, QGC_AST_IDENT, &T)); }
