/* The layers of a quantized model, and the function that calls them in their order. */
#include "digits.h"

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
extern const int8_t digits_constant_0[];
extern const int32_t digits_constant_1[];
extern const int8_t digits_constant_2[];
extern const int32_t digits_constant_3[];
extern const int8_t digits_constant_4[];
extern const int32_t digits_constant_5[];
extern const int8_t digits_constant_6[];
extern const int32_t digits_constant_7[];
extern const int8_t digits_constant_8[];
extern const int32_t digits_constant_9[];
extern const int32_t digits_constant_10[];
#ifdef __cplusplus
}
#endif

static inline int32_t digits_max_int32(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static inline int32_t digits_min_int32(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static inline int8_t digits_max_int8(int8_t a, int8_t b) {
  return a > b ? a : b;
}

static inline uint32_t digits_min_uint32(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static inline int8_t digits_int8_of_uint8(uint8_t bits) {
  int8_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/*
 * CONV_2D stem: int8 [1, 8, 8, 1] scale 0.0625 zero point -128, int8 [16, 3, 3, 1] 16 scales,
 *   int32 [16] 16 scales -> int8 [1, 8, 8, 16] scale 0.0109709 zero point -128
 * shared: int8_t [1088]
 * weights: const int8_t [144]
 * constants_0: const int32_t [32]
 */
static void digits_0_z_conv2d_over(void *argument_0, const void *argument_1, const void *argument_2, int32_t shift_3) {
  int8_t *const shared = (int8_t *)argument_0;
  const int8_t *const weights = (const int8_t *)argument_1;
  const int32_t *const constants_0 = (const int32_t *)argument_2;
  int8_t v[18];
  int32_t v_1, v_2, v_3, v_4, v_5, v_6, v_7, v_8[8], v_9, v_10, v_11, v_12, v_13, v_14, v_15, v_16,
      v_17, v_18, v_19, v_20, v_21, v_22, v_23, v_24, v_25, v_26, v_27, v_28, v_29;
  for (int32_t v_30 = 0; v_30 < 32; ++v_30) {
    v_1 = v_30 * 2;
    for (int32_t v_31 = 0; v_31 < 2; ++v_31) {
      v_2 = v_1 + v_31;
      v_3 = v_31 * 9;
      v_4 = (v_2 >> 3) - 1;
      v_2 = (v_2 & 7) - 1;
      if ((((0 <= v_4) && (v_4 <= 5)) && (0 <= v_2)) && (v_2 <= 5)) {
        for (int32_t v_32 = 0; v_32 < 3; ++v_32) {
          const int32_t cse_v1 = v_32 * 8;
          const int32_t cse_v2 = v_32 * 3;
          v[cse_v2 + v_3] = shared[(cse_v1 + (v_4 * 8)) + v_2];
          v[(cse_v2 + v_3) + 1] = shared[((cse_v1 + (v_4 * 8)) + v_2) + 1];
          v[(cse_v2 + v_3) + 2] = shared[((cse_v1 + (v_4 * 8)) + v_2) + 2];
        }
      } else {
        for (int32_t v_33 = 0; v_33 < 3; ++v_33) {
          v_5 = v_4 + v_33;
          v_6 = (v_5 * 8) + v_2;
          const int32_t cse_v3 = v_33 * 3;
          if ((0 <= v_5) && (v_5 < 8)) {
            for (int32_t v_34 = 0; v_34 < 3; ++v_34) {
              const int32_t cse_v5 = cse_v3 + v_34;
              if ((0 <= (v_2 + v_34)) && ((v_2 + v_34) < 8)) {
                v[cse_v5 + v_3] = shared[v_34 + v_6];
              } else {
                v[cse_v5 + v_3] = -128;
              }
            }
          } else {
            for (int32_t v_35 = 0; v_35 < 3; ++v_35) {
              v[(cse_v3 + v_35) + v_3] = -128;
            }
          }
        }
      }
    }
    for (int32_t v_36 = 0; v_36 < 4; ++v_36) {
      v_7 = 0;
      v_8[0] = v_7;
      v_8[1] = v_7;
      v_9 = 0;
      v_8[2] = v_9;
      v_8[3] = v_9;
      v_10 = 0;
      v_8[4] = v_10;
      v_8[5] = v_10;
      v_11 = 0;
      v_8[6] = v_11;
      v_8[7] = v_11;
      for (int32_t v_37 = 0; v_37 < 9; ++v_37) {
        v_12 = (int32_t)v[v_37];
        v_13 = (int32_t)v[v_37 + 9];
        const int32_t cse_v6 = (v_36 * 36) + (v_37 * 4);
        v_14 = (int32_t)weights[cse_v6];
        v_8[0] = v_8[0] + (v_12 * v_14);
        v_8[1] = v_8[1] + (v_13 * v_14);
        v_15 = (int32_t)weights[cse_v6 + 1];
        v_8[2] = v_8[2] + (v_12 * v_15);
        v_8[3] = v_8[3] + (v_13 * v_15);
        v_16 = (int32_t)weights[cse_v6 + 2];
        v_8[4] = v_8[4] + (v_12 * v_16);
        v_8[5] = v_8[5] + (v_13 * v_16);
        v_17 = (int32_t)weights[cse_v6 + 3];
        v_8[6] = v_8[6] + (v_12 * v_17);
        v_8[7] = v_8[7] + (v_13 * v_17);
      }
      const int32_t cse_v4 = v_36 * 4;
      v_18 = cse_v4;
      v_19 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[0] << 14)) * ((int64_t)constants_0[v_18 * 2])) >> 32LL)) + constants_0[(v_18 * 2) + 1]) >> 17;
      shared[((v_1 * 16) + v_18) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_19, 127), (-128));
      v_20 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[1] << 14)) * ((int64_t)constants_0[v_18 * 2])) >> 32LL)) + constants_0[(v_18 * 2) + 1]) >> 17;
      shared[(((v_1 * 16) + v_18) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_20, 127), (-128));
      v_21 = cse_v4 + 1;
      v_22 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[2] << 14)) * ((int64_t)constants_0[v_21 * 2])) >> 32LL)) + constants_0[(v_21 * 2) + 1]) >> 17;
      shared[((v_1 * 16) + v_21) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_22, 127), (-128));
      v_23 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[3] << 14)) * ((int64_t)constants_0[v_21 * 2])) >> 32LL)) + constants_0[(v_21 * 2) + 1]) >> 17;
      shared[(((v_1 * 16) + v_21) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_23, 127), (-128));
      v_24 = cse_v4 + 2;
      v_25 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[4] << 14)) * ((int64_t)constants_0[v_24 * 2])) >> 32LL)) + constants_0[(v_24 * 2) + 1]) >> 17;
      shared[((v_1 * 16) + v_24) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_25, 127), (-128));
      v_26 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[5] << 14)) * ((int64_t)constants_0[v_24 * 2])) >> 32LL)) + constants_0[(v_24 * 2) + 1]) >> 17;
      shared[(((v_1 * 16) + v_24) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_26, 127), (-128));
      v_27 = cse_v4 + 3;
      v_28 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[6] << 14)) * ((int64_t)constants_0[v_27 * 2])) >> 32LL)) + constants_0[(v_27 * 2) + 1]) >> 17;
      shared[((v_1 * 16) + v_27) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_28, 127), (-128));
      v_29 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[7] << 14)) * ((int64_t)constants_0[v_27 * 2])) >> 32LL)) + constants_0[(v_27 * 2) + 1]) >> 17;
      shared[(((v_1 * 16) + v_27) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_29, 127), (-128));
    }
  }
}

/*
 * DEPTHWISE_CONV_2D depthwise: int8 [1, 8, 8, 16] scale 0.0109709 zero point -128, int8 [1, 3, 3,
 *   16] 16 scales, int32 [16] 16 scales -> int8 [1, 8, 8, 16] scale 0.0242905 zero point -128
 * data: const int8_t [1][8][8][16]
 * weights: const int8_t [144]
 * constants_0: const int32_t [32]
 * output: int8_t [1][8][8][16]
 * v: int8_t [480]
 */
static void digits_1_z_depthwise_conv2d(const void *argument_0, const void *argument_1, const void *argument_2, void *argument_3, void *scratch_1) {
  const int8_t *const data = (const int8_t *)argument_0;
  const int8_t *const weights = (const int8_t *)argument_1;
  const int32_t *const constants_0 = (const int32_t *)argument_2;
  int8_t *const output = (int8_t *)argument_3;
  int8_t *const v = (int8_t *)scratch_1;
  int32_t v_1, v_2, v_3, v_4, v_5, v_6, v_7, v_8, v_9, v_10, v_11;
  for (int32_t v_12 = 0; v_12 < 480; ++v_12) {
    v[v_12] = -128;
  }
  for (int32_t v_13 = 0; v_13 < 8; ++v_13) {
    for (int32_t v_14 = 0; v_14 < 3; ++v_14) {
      if ((v_13 == 0) || (v_14 == 2)) {
        v_1 = v_13 + v_14;
        v_2 = v_1 - 1;
        v_1 = (((v_1 % 3) + (3 & ((v_1 % 3) >> 31))) * 160) + 16;
        if ((0 <= v_2) && (v_2 < 8)) {
          v_3 = v_2 * 128;
          for (int32_t v_15 = 0; v_15 < 128; ++v_15) {
            v[v_15 + v_1] = data[v_15 + v_3];
          }
        } else {
          for (int32_t v_16 = 0; v_16 < 128; ++v_16) {
            v[v_16 + v_1] = -128;
          }
        }
      }
    }
    v_4 = (v_13 % 3) * 160;
    v_5 = ((v_13 + 1) % 3) * 160;
    v_6 = ((v_13 + 2) % 3) * 160;
    for (int32_t v_17 = 0; v_17 < 8; ++v_17) {
      v_7 = v_17 * 16;
      v_8 = (v_13 * 8) + v_17;
      for (int32_t v_18 = 0; v_18 < 16; ++v_18) {
        v_9 = 0;
        v_9 = v_9 + (((int32_t)v[(v_18 + v_4) + v_7]) * ((int32_t)weights[v_18]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_4) + v_7) + 16]) * ((int32_t)weights[v_18 + 16]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_4) + v_7) + 32]) * ((int32_t)weights[v_18 + 32]));
        v_9 = v_9 + (((int32_t)v[(v_18 + v_5) + v_7]) * ((int32_t)weights[v_18 + 48]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_5) + v_7) + 16]) * ((int32_t)weights[v_18 + 64]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_5) + v_7) + 32]) * ((int32_t)weights[v_18 + 80]));
        v_9 = v_9 + (((int32_t)v[(v_18 + v_6) + v_7]) * ((int32_t)weights[v_18 + 96]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_6) + v_7) + 16]) * ((int32_t)weights[v_18 + 112]));
        v_9 = v_9 + (((int32_t)v[((v_18 + v_6) + v_7) + 32]) * ((int32_t)weights[v_18 + 128]));
        v_10 = v_18;
        v_11 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_9 << 14)) * ((int64_t)constants_0[v_10 * 2])) >> 32LL)) + constants_0[(v_10 * 2) + 1]) >> 17;
        output[(v_8 * 16) + v_10] = (int8_t)digits_max_int32(digits_min_int32(v_11, 127), (-128));
      }
    }
  }
}

/*
 * CONV_2D pointwise: int8 [1, 8, 8, 16] scale 0.0242905 zero point -128, int8 [16, 1, 1, 16] 16
 *   scales, int32 [16] 16 scales -> int8 [1, 8, 8, 16] scale 0.042094 zero point -6
 * shared: int8_t [2048]
 * weights: const int8_t [256]
 * constants_0: const int32_t [64]
 */
static void digits_2_z_conv2d1_over(void *argument_0, const void *argument_1, const void *argument_2, int32_t shift_3) {
  int8_t *const shared = (int8_t *)argument_0;
  const int8_t *const weights = (const int8_t *)argument_1;
  const int32_t *const constants_0 = (const int32_t *)argument_2;
  int32_t v, v_1[8], v_2, v_3, v_4, v_5, v_6, v_7, v_8, v_9, v_10, v_11, v_12, v_13, v_14, v_15,
      v_16, v_17, v_18, v_19;
  for (int32_t v_20 = 0; v_20 < 32; ++v_20) {
    v = v_20 * 2;
    for (int32_t v_21 = 0; v_21 < 4; ++v_21) {
      const int32_t cse_v1 = v_21 * 16;
      const int32_t v_22 = constants_0[cse_v1 + 3];
      v_1[0] = v_22;
      v_1[1] = v_22;
      const int32_t v_23 = constants_0[cse_v1 + 7];
      v_1[2] = v_23;
      v_1[3] = v_23;
      const int32_t v_24 = constants_0[cse_v1 + 11];
      v_1[4] = v_24;
      v_1[5] = v_24;
      const int32_t v_25 = constants_0[cse_v1 + 15];
      v_1[6] = v_25;
      v_1[7] = v_25;
      for (int32_t v_26 = 0; v_26 < 16; ++v_26) {
        v_2 = (int32_t)shared[(v * 16) + v_26];
        v_3 = (int32_t)shared[((v * 16) + v_26) + 16];
        const int32_t cse_v3 = (v_21 * 64) + (v_26 * 4);
        v_4 = (int32_t)weights[cse_v3];
        v_1[0] = v_1[0] + (v_2 * v_4);
        v_1[1] = v_1[1] + (v_3 * v_4);
        v_5 = (int32_t)weights[cse_v3 + 1];
        v_1[2] = v_1[2] + (v_2 * v_5);
        v_1[3] = v_1[3] + (v_3 * v_5);
        v_6 = (int32_t)weights[cse_v3 + 2];
        v_1[4] = v_1[4] + (v_2 * v_6);
        v_1[5] = v_1[5] + (v_3 * v_6);
        v_7 = (int32_t)weights[cse_v3 + 3];
        v_1[6] = v_1[6] + (v_2 * v_7);
        v_1[7] = v_1[7] + (v_3 * v_7);
      }
      const int32_t cse_v2 = v_21 * 4;
      v_8 = cse_v2;
      v_9 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[0] << 13)) * ((int64_t)constants_0[v_8 * 4])) >> 32LL)) + ((v_1[0] < 0) ? constants_0[(v_8 * 4) + 2] : constants_0[(v_8 * 4) + 1])) >> 17;
      shared[((v * 16) + v_8) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_9, 127), (-128));
      v_10 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[1] << 13)) * ((int64_t)constants_0[v_8 * 4])) >> 32LL)) + ((v_1[1] < 0) ? constants_0[(v_8 * 4) + 2] : constants_0[(v_8 * 4) + 1])) >> 17;
      shared[(((v * 16) + v_8) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_10, 127), (-128));
      v_11 = cse_v2 + 1;
      v_12 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[2] << 13)) * ((int64_t)constants_0[v_11 * 4])) >> 32LL)) + ((v_1[2] < 0) ? constants_0[(v_11 * 4) + 2] : constants_0[(v_11 * 4) + 1])) >> 17;
      shared[((v * 16) + v_11) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_12, 127), (-128));
      v_13 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[3] << 13)) * ((int64_t)constants_0[v_11 * 4])) >> 32LL)) + ((v_1[3] < 0) ? constants_0[(v_11 * 4) + 2] : constants_0[(v_11 * 4) + 1])) >> 17;
      shared[(((v * 16) + v_11) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_13, 127), (-128));
      v_14 = cse_v2 + 2;
      v_15 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[4] << 13)) * ((int64_t)constants_0[v_14 * 4])) >> 32LL)) + ((v_1[4] < 0) ? constants_0[(v_14 * 4) + 2] : constants_0[(v_14 * 4) + 1])) >> 17;
      shared[((v * 16) + v_14) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_15, 127), (-128));
      v_16 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[5] << 13)) * ((int64_t)constants_0[v_14 * 4])) >> 32LL)) + ((v_1[5] < 0) ? constants_0[(v_14 * 4) + 2] : constants_0[(v_14 * 4) + 1])) >> 17;
      shared[(((v * 16) + v_14) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_16, 127), (-128));
      v_17 = cse_v2 + 3;
      v_18 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[6] << 13)) * ((int64_t)constants_0[v_17 * 4])) >> 32LL)) + ((v_1[6] < 0) ? constants_0[(v_17 * 4) + 2] : constants_0[(v_17 * 4) + 1])) >> 17;
      shared[((v * 16) + v_17) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_18, 127), (-128));
      v_19 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_1[7] << 13)) * ((int64_t)constants_0[v_17 * 4])) >> 32LL)) + ((v_1[7] < 0) ? constants_0[(v_17 * 4) + 2] : constants_0[(v_17 * 4) + 1])) >> 17;
      shared[(((v * 16) + v_17) + 16) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_19, 127), (-128));
    }
  }
}

/*
 * ADD residual: int8 [1, 8, 8, 16] scale 0.0109709 zero point -128, int8 [1, 8, 8, 16] scale
 *   0.042094 zero point -6 -> int8 [1, 8, 8, 16] scale 0.0284607 zero point -128
 * shared: int8_t [2048]
 * rhs: const int8_t [1024]
 */
static void digits_3_add_over(void *argument_0, const void *argument_1, int32_t shift_2) {
  int8_t *const shared = (int8_t *)argument_0;
  const int8_t *const rhs = (const int8_t *)argument_1;
  int32_t v;
  for (int32_t v_1 = 0; v_1 < 1024; ++v_1) {
    v = ((((int32_t)rhs[v_1]) * 3101736) + (((int32_t)shared[v_1]) * 808405)) + 123134849;
    v = (v - 268435456) >> 21;
    shared[v_1 + ((int32_t)shift_2)] = (int8_t)digits_max_int32(digits_min_int32(v, 127), (-128));
  }
}

/*
 * MAX_POOL_2D max_pool: int8 [1, 8, 8, 16] scale 0.0284607 zero point -128 -> int8 [1, 4, 4, 16]
 *   scale 0.0284607 zero point -128
 * shared: int8_t [1280]
 */
static void digits_4_fused_max_pool2d_cast_over(void *argument_0, int32_t shift_1) {
  int8_t *const shared = (int8_t *)argument_0;
  int8_t pool_max_intermediate[256];
  for (int32_t ax1 = 0; ax1 < 4; ++ax1) {
    for (int32_t ax2 = 0; ax2 < 4; ++ax2) {
      const int32_t cse_v1 = (ax1 * 64) + (ax2 * 16);
      for (int32_t ax3_init = 0; ax3_init < 16; ++ax3_init) {
        pool_max_intermediate[cse_v1 + ax3_init] = -128;
      }
      for (int32_t rv0 = 0; rv0 < 2; ++rv0) {
        for (int32_t rv1 = 0; rv1 < 2; ++rv1) {
          for (int32_t ax3 = 0; ax3 < 16; ++ax3) {
            const int32_t cse_v3 = cse_v1 + ax3;
            pool_max_intermediate[cse_v3] = (int8_t)(digits_max_int8(pool_max_intermediate[cse_v3], shared[((((ax1 * 256) + (rv0 * 128)) + (ax2 * 32)) + (rv1 * 16)) + ax3]));
          }
        }
      }
    }
  }
  for (int32_t i1 = 0; i1 < 4; ++i1) {
    for (int32_t i2_i3_fused = 0; i2_i3_fused < 64; ++i2_i3_fused) {
      const int32_t cse_v2 = (i1 * 64) + i2_i3_fused;
      shared[cse_v2 + ((int32_t)shift_1)] = pool_max_intermediate[cse_v2];
    }
  }
}

/*
 * CONV_2D conv: int8 [1, 4, 4, 16] scale 0.0284607 zero point -128, int8 [32, 3, 3, 16] 32 scales,
 *   int32 [32] 32 scales -> int8 [1, 4, 4, 32] scale 0.0852286 zero point -128
 * shared: int8_t [768]
 * weights: const int8_t [4608]
 * constants_0: const int32_t [64]
 */
static void digits_5_z_conv2d2_over(void *argument_0, const void *argument_1, const void *argument_2, int32_t shift_3) {
  int8_t *const shared = (int8_t *)argument_0;
  const int8_t *const weights = (const int8_t *)argument_1;
  const int32_t *const constants_0 = (const int32_t *)argument_2;
  int8_t v[288];
  int32_t v_1, v_2, v_3, v_4, v_5, v_6, v_7, v_8[8], v_9, v_10, v_11, v_12, v_13, v_14, v_15, v_16,
      v_17, v_18, v_19, v_20, v_21, v_22, v_23, v_24, v_25, v_26, v_27, v_28, v_29;
  for (int32_t v_30 = 0; v_30 < 8; ++v_30) {
    v_1 = v_30 * 2;
    for (int32_t v_31 = 0; v_31 < 2; ++v_31) {
      v_2 = v_1 + v_31;
      v_3 = v_31 * 144;
      v_4 = (v_2 >> 2) - 1;
      v_2 = (v_2 & 3) - 1;
      if ((((0 <= v_4) && (v_4 <= 1)) && (0 <= v_2)) && (v_2 <= 1)) {
        for (int32_t v_32 = 0; v_32 < 3; ++v_32) {
          for (int32_t v_33 = 0; v_33 < 3; ++v_33) {
            const int32_t cse_v1 = v_32 * 64;
            const int32_t cse_v2 = v_33 * 16;
            const int32_t cse_v6 = (v_32 * 48) + cse_v2;
            for (int lane = 0; lane < 4; ++lane) {
              v[(cse_v6 + v_3) + lane * 1] = shared[((((v_4 * 64) + cse_v1) + (v_2 * 16)) + cse_v2) + lane * 1];
            }
            for (int lane = 0; lane < 4; ++lane) {
              v[((cse_v6 + v_3) + 4) + lane * 1] = shared[(((((v_4 * 64) + cse_v1) + (v_2 * 16)) + cse_v2) + 4) + lane * 1];
            }
            for (int lane = 0; lane < 4; ++lane) {
              v[((cse_v6 + v_3) + 8) + lane * 1] = shared[(((((v_4 * 64) + cse_v1) + (v_2 * 16)) + cse_v2) + 8) + lane * 1];
            }
            for (int lane = 0; lane < 4; ++lane) {
              v[((cse_v6 + v_3) + 12) + lane * 1] = shared[(((((v_4 * 64) + cse_v1) + (v_2 * 16)) + cse_v2) + 12) + lane * 1];
            }
          }
        }
      } else {
        for (int32_t v_34 = 0; v_34 < 3; ++v_34) {
          v_5 = v_4 + v_34;
          v_6 = (v_5 * 64) + (v_2 * 16);
          const int32_t cse_v4 = v_34 * 48;
          if ((0 <= v_5) && (v_5 < 4)) {
            for (int32_t v_35 = 0; v_35 < 3; ++v_35) {
              const int32_t cse_v3 = v_35 * 16;
              const int32_t cse_v7 = cse_v4 + cse_v3;
              if ((0 <= (v_2 + v_35)) && ((v_2 + v_35) < 4)) {
                for (int lane = 0; lane < 4; ++lane) {
                  v[(cse_v7 + v_3) + lane * 1] = shared[(cse_v3 + v_6) + lane * 1];
                }
                for (int lane = 0; lane < 4; ++lane) {
                  v[((cse_v7 + v_3) + 4) + lane * 1] = shared[((cse_v3 + v_6) + 4) + lane * 1];
                }
                for (int lane = 0; lane < 4; ++lane) {
                  v[((cse_v7 + v_3) + 8) + lane * 1] = shared[((cse_v3 + v_6) + 8) + lane * 1];
                }
                for (int lane = 0; lane < 4; ++lane) {
                  v[((cse_v7 + v_3) + 12) + lane * 1] = shared[((cse_v3 + v_6) + 12) + lane * 1];
                }
              } else {
                for (int32_t v_36 = 0; v_36 < 16; ++v_36) {
                  v[(cse_v7 + v_36) + v_3] = -128;
                }
              }
            }
          } else {
            for (int32_t v_37 = 0; v_37 < 48; ++v_37) {
              v[(cse_v4 + v_37) + v_3] = -128;
            }
          }
        }
      }
    }
    for (int32_t v_38 = 0; v_38 < 8; ++v_38) {
      v_7 = 0;
      v_8[0] = v_7;
      v_8[1] = v_7;
      v_9 = 0;
      v_8[2] = v_9;
      v_8[3] = v_9;
      v_10 = 0;
      v_8[4] = v_10;
      v_8[5] = v_10;
      v_11 = 0;
      v_8[6] = v_11;
      v_8[7] = v_11;
      for (int32_t v_39 = 0; v_39 < 144; ++v_39) {
        v_12 = (int32_t)v[v_39];
        v_13 = (int32_t)v[v_39 + 144];
        const int32_t cse_v8 = (v_38 * 576) + (v_39 * 4);
        v_14 = (int32_t)weights[cse_v8];
        v_8[0] = v_8[0] + (v_12 * v_14);
        v_8[1] = v_8[1] + (v_13 * v_14);
        v_15 = (int32_t)weights[cse_v8 + 1];
        v_8[2] = v_8[2] + (v_12 * v_15);
        v_8[3] = v_8[3] + (v_13 * v_15);
        v_16 = (int32_t)weights[cse_v8 + 2];
        v_8[4] = v_8[4] + (v_12 * v_16);
        v_8[5] = v_8[5] + (v_13 * v_16);
        v_17 = (int32_t)weights[cse_v8 + 3];
        v_8[6] = v_8[6] + (v_12 * v_17);
        v_8[7] = v_8[7] + (v_13 * v_17);
      }
      const int32_t cse_v5 = v_38 * 4;
      v_18 = cse_v5;
      v_19 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[0] << 11)) * ((int64_t)constants_0[v_18 * 2])) >> 32LL)) + constants_0[(v_18 * 2) + 1]) >> 17;
      shared[((v_1 * 32) + v_18) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_19, 127), (-128));
      v_20 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[1] << 11)) * ((int64_t)constants_0[v_18 * 2])) >> 32LL)) + constants_0[(v_18 * 2) + 1]) >> 17;
      shared[(((v_1 * 32) + v_18) + 32) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_20, 127), (-128));
      v_21 = cse_v5 + 1;
      v_22 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[2] << 11)) * ((int64_t)constants_0[v_21 * 2])) >> 32LL)) + constants_0[(v_21 * 2) + 1]) >> 17;
      shared[((v_1 * 32) + v_21) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_22, 127), (-128));
      v_23 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[3] << 11)) * ((int64_t)constants_0[v_21 * 2])) >> 32LL)) + constants_0[(v_21 * 2) + 1]) >> 17;
      shared[(((v_1 * 32) + v_21) + 32) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_23, 127), (-128));
      v_24 = cse_v5 + 2;
      v_25 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[4] << 11)) * ((int64_t)constants_0[v_24 * 2])) >> 32LL)) + constants_0[(v_24 * 2) + 1]) >> 17;
      shared[((v_1 * 32) + v_24) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_25, 127), (-128));
      v_26 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[5] << 11)) * ((int64_t)constants_0[v_24 * 2])) >> 32LL)) + constants_0[(v_24 * 2) + 1]) >> 17;
      shared[(((v_1 * 32) + v_24) + 32) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_26, 127), (-128));
      v_27 = cse_v5 + 3;
      v_28 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[6] << 11)) * ((int64_t)constants_0[v_27 * 2])) >> 32LL)) + constants_0[(v_27 * 2) + 1]) >> 17;
      shared[((v_1 * 32) + v_27) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_28, 127), (-128));
      v_29 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_8[7] << 11)) * ((int64_t)constants_0[v_27 * 2])) >> 32LL)) + constants_0[(v_27 * 2) + 1]) >> 17;
      shared[(((v_1 * 32) + v_27) + 32) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_29, 127), (-128));
    }
  }
}

/*
 * AVERAGE_POOL_2D average_pool: int8 [1, 4, 4, 32] scale 0.0852286 zero point -128 -> int8 [1, 2,
 *   2, 32] scale 0.0852286 zero point -128
 * shared: int8_t [640]
 */
static void digits_6_average_over(void *argument_0, int32_t shift_1) {
  int8_t *const shared = (int8_t *)argument_0;
  int32_t v, v_1, v_2, v_3, v_4;
  for (int32_t v_5 = 0; v_5 < 2; ++v_5) {
    for (int32_t v_6 = 0; v_6 < 2; ++v_6) {
      v = (v_5 * 8) + (v_6 * 2);
      v_1 = (v_5 * 2) + v_6;
      for (int32_t v_7 = 0; v_7 < 32; ++v_7) {
        v_2 = v_7;
        v_3 = 0;
        for (int32_t v_8 = 0; v_8 < 2; ++v_8) {
          for (int32_t v_9 = 0; v_9 < 2; ++v_9) {
            v_3 = v_3 + ((int32_t)shared[(((v_8 * 128) + (v * 32)) + (v_9 * 32)) + v_2]);
          }
        }
        v_4 = 2;
        v_3 = (v_3 + ((v_3 < 0) ? (0 - v_4) : v_4)) / 4;
        shared[((v_1 * 32) + v_2) + ((int32_t)shift_1)] = (int8_t)digits_max_int32(digits_min_int32(v_3, 127), (-128));
      }
    }
  }
}

/*
 * FULLY_CONNECTED logits: int8 [1, 128] scale 0.0852286 zero point -128, int8 [10, 128] scale
 *   0.00841324 zero point 0, int32 [10] scale 0.000717049 zero point 0 -> int8 [1, 10] scale
 *   0.143624 zero point 22
 * shared: int8_t [138]
 * weights: const int8_t [1280]
 * constants_0: const int32_t [10]
 */
static void digits_7_z_conv2d3_over(void *argument_0, const void *argument_1, const void *argument_2, int32_t shift_3) {
  int8_t *const shared = (int8_t *)argument_0;
  const int8_t *const weights = (const int8_t *)argument_1;
  const int32_t *const constants_0 = (const int32_t *)argument_2;
  int32_t v, v_1, v_2[2], v_3, v_4, v_5, v_6, v_7, v_8, v_9, v_10, v_11, v_12, v_13;
  v = 0;
  for (int32_t v_14 = 0; v_14 < 5; ++v_14) {
    v_1 = 0;
    v_2[0] = v_1;
    v_3 = 0;
    v_2[1] = v_3;
    for (int32_t v_15 = 0; v_15 < 64; ++v_15) {
      const int32_t cse_v1 = v_15 * 2;
      v_4 = (int32_t)shared[(v * 128) + cse_v1];
      const int32_t cse_v3 = (v_14 * 256) + (v_15 * 4);
      v_5 = (int32_t)weights[cse_v3];
      v_2[0] = v_2[0] + (v_4 * v_5);
      v_6 = (int32_t)weights[cse_v3 + 1];
      v_2[1] = v_2[1] + (v_4 * v_6);
      v_7 = (int32_t)shared[((v * 128) + cse_v1) + 1];
      v_8 = (int32_t)weights[cse_v3 + 2];
      v_2[0] = v_2[0] + (v_7 * v_8);
      v_9 = (int32_t)weights[cse_v3 + 3];
      v_2[1] = v_2[1] + (v_7 * v_9);
    }
    const int32_t cse_v2 = v_14 * 2;
    v_10 = cse_v2;
    v_11 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_2[0] << 12)) * 1372335739LL) >> 32LL)) + constants_0[v_10]) >> 18;
    shared[((v * 10) + v_10) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_11, 127), (-128));
    v_12 = cse_v2 + 1;
    v_13 = (((int32_t)((((int64_t)(int32_t)((uint32_t)v_2[1] << 12)) * 1372335739LL) >> 32LL)) + constants_0[v_12]) >> 18;
    shared[((v * 10) + v_12) + ((int32_t)shift_3)] = (int8_t)digits_max_int32(digits_min_int32(v_13, 127), (-128));
  }
}

/*
 * SOFTMAX probabilities: int8 [1, 10] scale 0.143624 zero point 22 -> int8 [1, 10] scale
 *   0.00390625 zero point -128
 * shared: int8_t [20]
 * table: const int32_t [98]
 */
static void digits_8_softmax_over(void *argument_0, const void *argument_1, int32_t shift_2) {
  int8_t *const shared = (int8_t *)argument_0;
  const int32_t *const table = (const int32_t *)argument_1;
  int32_t v, v_1, v_2, v_3, v_4, v_5, v_6;
  v = -128;
  for (int32_t v_7 = 0; v_7 < 10; ++v_7) {
    v = digits_max_int32(v, ((int32_t)shared[v_7]));
  }
  v_1 = 0;
  for (int32_t v_8 = 0; v_8 < 10; ++v_8) {
    const int32_t v_9 = table[digits_min_int32((v - ((int32_t)shared[v_8])), 97)];
    v_1 = v_1 + (((v_9 >> 11) + 1) >> 1);
  }
  const int32_t v_10 = v_1;
  v_2 = (((int32_t)(1048576 <= v_10)) + ((int32_t)(2097152 <= v_10))) + ((int32_t)(4194304 <= v_10));
  v_3 = (int32_t)((uint32_t)v_10 << (11 - v_2));
  v_4 = ((int32_t)((1073741824LL - (((int64_t)v_3) * 1010580540LL)) >> 31LL)) + 1515870810;
  v_5 = 536870912 - ((int32_t)(((((int64_t)v_3) * ((int64_t)v_4)) + 1073741824LL) >> 31LL));
  v_4 = (((int32_t)(((((int64_t)v_4) * ((int64_t)v_5)) + 1073741824LL) >> 31LL)) * 4) + v_4;
  v_6 = 536870912 - ((int32_t)(((((int64_t)v_3) * ((int64_t)v_4)) + 1073741824LL) >> 31LL));
  v_4 = (((int32_t)(((((int64_t)v_4) * ((int64_t)v_6)) + 1073741824LL) >> 31LL)) * 4) + v_4;
  v_3 = 536870912 - ((int32_t)(((((int64_t)v_3) * ((int64_t)v_4)) + 1073741824LL) >> 31LL));
  v_4 = (((int32_t)(((((int64_t)v_4) * ((int64_t)v_3)) + 1073741824LL) >> 31LL)) * 4) + v_4;
  v_4 = (int32_t)digits_min_uint32((uint32_t)((uint32_t)((uint32_t)v_4) << 1U), 2147483647U);
  v_2 = v_2 + 23;
  for (int32_t v_11 = 0; v_11 < 10; ++v_11) {
    const int32_t v_12 = table[digits_min_int32((v - ((int32_t)shared[v_11])), 97)];
    shared[v_11 + ((int32_t)shift_2)] = (int8_t)(digits_int8_of_uint8(((uint8_t)(((uint8_t)digits_min_uint32((((((uint32_t)(((((int64_t)v_12) * ((int64_t)v_4)) + 1073741824LL) >> 31LL)) >> 22U) + (uint32_t)((uint32_t)1U << (((uint32_t)(v_2 - 22)) - 1U))) >> ((uint32_t)(v_2 - 22))), 255U)) + 128))));
  }
}

/* Define DIGITS_HOOK as the name of a function of yours, to follow a run: it gets the number and the
 * layer's name of each call before it, and how many there were and a null pointer at the end. */
#ifdef DIGITS_HOOK
extern void DIGITS_HOOK(int call, const char *layer);
#else
#define DIGITS_HOOK(call, layer) ((void)0)
#endif

static int is_wrong(const void *pointer) {
  return !pointer || (uintptr_t)pointer % DIGITS_ALIGNMENT;
}

int digits_run(void *workspace) {
  unsigned char *const memory = (unsigned char *)workspace;

  if (is_wrong(workspace)) return 1;
  (void)memory;

  DIGITS_HOOK(0, "digits_0_z_conv2d");
  digits_0_z_conv2d_over(memory + 944, digits_constant_0, digits_constant_1, -944);
  DIGITS_HOOK(1, "digits_1_z_depthwise_conv2d");
  digits_1_z_depthwise_conv2d(memory + 0, digits_constant_2, digits_constant_3, memory + 1504, memory + 1024);
  DIGITS_HOOK(2, "digits_2_z_conv2d1");
  digits_2_z_conv2d1_over(memory + 1504, digits_constant_4, digits_constant_5, -480);
  DIGITS_HOOK(3, "digits_3_add");
  digits_3_add_over(memory + 0, memory + 1024, 0);
  DIGITS_HOOK(4, "digits_4_fused_max_pool2d_cast");
  digits_4_fused_max_pool2d_cast_over(memory + 0, 312);
  DIGITS_HOOK(5, "digits_5_z_conv2d2");
  digits_5_z_conv2d2_over(memory + 312, digits_constant_6, digits_constant_7, -304);
  DIGITS_HOOK(6, "digits_6_average");
  digits_6_average_over(memory + 8, 0);
  DIGITS_HOOK(7, "digits_7_z_conv2d3");
  digits_7_z_conv2d3_over(memory + 8, digits_constant_8, digits_constant_9, -8);
  DIGITS_HOOK(8, "digits_8_softmax");
  digits_8_softmax_over(memory + 0, digits_constant_10, 0);
  DIGITS_HOOK(9, 0);
  return 0;
}
