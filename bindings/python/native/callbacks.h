/* Functions of Python that the library calls (ronde_bootstrap.allgather, ronde_complete); read by generate.py. */
extern "Python" enum ronde_status ronde_python_allgather(void *self, const void *mine, size_t bytes,
                                                         void *out_all, struct ronde_error *error);
extern "Python" void ronde_python_complete(void *self, enum ronde_status status,
                                           const struct ronde_error *error);
