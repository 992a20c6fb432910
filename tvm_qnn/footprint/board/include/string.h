/* What programs on an emulated board have of a C library. */
#ifndef STRING_H
#define STRING_H
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int value, size_t size);
size_t strlen(const char *text);
#endif
