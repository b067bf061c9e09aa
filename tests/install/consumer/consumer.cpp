// The same program as C++17: public headers are C and C++.
#include "consumer.c"
