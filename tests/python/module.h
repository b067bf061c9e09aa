/**
 * The Python package is tested in a virtual environment, each file of tests/python a case here. python/install builds the
 * package from the sources as they are, before the others (a fixture of CTest); these run beside each other. Nothing is
 * downloaded but where CI=true; `./dev python` makes the environment.
 */
#ifndef RONDE_TESTS_PYTHON_MODULE_H
#define RONDE_TESTS_PYTHON_MODULE_H

#include <stdbool.h>

/** Whether there is, or may be made, an environment to test in; skips the case if not. */
bool python_can_test(void);

/** Runs tests/python/`module`.py, which imports `needed`; skips where that is not installed. */
void python_run_module(const char *module, const char *needed);

#endif
