/* What plain C calls of math.h, as in library.c. */
#ifndef MATH_H
#define MATH_H

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
double trunc(double value);
double fabs(double value);
float truncf(float value);
float fabsf(float value);
#endif
