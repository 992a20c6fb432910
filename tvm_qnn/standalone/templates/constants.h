#ifdef __cplusplus
extern "C" {
#endif
%each constants
extern const ${type} ${constant}[];
%end constants
#ifdef __cplusplus
}
#endif
