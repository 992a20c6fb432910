%each blocks
%if is_plain
static int64_t ${block}[(${length} + 7) / 8];
%end is_plain
%unless is_plain
static _Alignas(${macro}_ALIGNMENT) unsigned char ${block}[${length}];
%end is_plain
%end blocks
