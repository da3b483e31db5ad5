# The lit suite. Run it on a build: ninja -C build/X check-lit, or lit.py build/X/test/lit.
# RUN lines use qgc, FileCheck, not and count by name; they are found through PATH.
import os
import subprocess

import lit.formats

config.name = "qgc"
# bash, not lit's own shell: the latter's `not` accepts a crash.
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".qir", ".qcfg", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.qgc_build_dir, "test", "lit")

tools_dir = os.path.dirname(config.filecheck)
path = [config.qgc_build_dir, tools_dir, "/usr/bin", "/bin"]
config.environment = {
    "QGC_CACHE": "", # none; tests of the cache name one
    "QGC_THREADS": "1", # plans print alike on every machine; tests of threads say --threads
    "PATH": os.pathsep.join(path),
    "LC_ALL": "C",
    "HOME": config.test_exec_root,
    "FILECHECK_OPTS": "--enable-var-scope --dump-input=fail",
    # `not` accepts any failing exit code but no signal: a finding must be a signal.
    # Memory that cannot be had is an error that the tests want to see, not a finding.
    "ASAN_OPTIONS": "abort_on_error=1:allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "abort_on_error=1:halt_on_error=1",
}

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%plugins", os.path.join(config.qgc_build_dir, "test", "plugin")))
config.substitutions.append(("%source_dir", config.qgc_source_dir))

for sanitizer in filter(None, config.qgc_sanitize.split("-")):
    config.available_features.add(sanitizer)

# "cpu-LEVEL" for each level that the host has; the others end in " (not here)".
version = subprocess.check_output([os.path.join(config.qgc_build_dir, "qgc"), "--version"], text=True)
for line in version.splitlines():
    if line.startswith("cpu levels:"):
        names = line.split(":")[1].replace(" (not here)", "!").split()
        config.available_features.update(f"cpu-{name}" for name in names if not name.endswith("!"))
