/* What plain C calls of math.h. Programs on a board have only the functions of library.c. */
#ifndef MATH_H
#define MATH_H

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)

double acos(double), acosh(double), asin(double), asinh(double), atan(double), atanh(double);
double atan2(double, double), ceil(double), copysign(double, double), cos(double), cosh(double);
double erf(double), exp(double), exp2(double), fabs(double), floor(double);
double fma(double, double, double), fmod(double, double), hypot(double, double);
double ldexp(double, int), log(double), log10(double), log1p(double), log2(double);
double nearbyint(double), pow(double, double), round(double), sin(double), sinh(double);
double sqrt(double), tan(double), tanh(double), trunc(double);

float acosf(float), acoshf(float), asinf(float), asinhf(float), atanf(float), atanhf(float);
float atan2f(float, float), ceilf(float), copysignf(float, float), cosf(float), coshf(float);
float erff(float), expf(float), exp2f(float), fabsf(float), floorf(float);
float fmaf(float, float, float), fmodf(float, float), hypotf(float, float);
float ldexpf(float, int), logf(float), log10f(float), log1pf(float), log2f(float);
float nearbyintf(float), powf(float, float), roundf(float), sinf(float), sinhf(float);
float sqrtf(float), tanf(float), tanhf(float), truncf(float);
#endif
