/* What a program needs of a C library, where there is none that is small. */
#include <math.h>
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  char *written = to;
  const char *read = from;
  while (size--) *written++ = *read++;
  return to;
}

void *memset(void *to, int value, size_t size) {
  char *written = to;
  while (size--) *written++ = (char)value;
  return to;
}

size_t strlen(const char *text) {
  const char *end = text;
  while (*end) end++;
  return (size_t)(end - text);
}

/* Of dense layers that are scaled in float64. */
double trunc(double value) {
  const double whole = 4503599627370496.0; /* from here on all are */
  return value > -whole && value < whole ? (double)(int64_t)value : value;
}

float truncf(float value) {
  const float whole = 8388608.0F;
  return value > -whole && value < whole ? (float)(int32_t)value : value;
}

double fabs(double value) { return value < 0 ? -value : value; }

float fabsf(float value) { return value < 0 ? -value : value; }
