%unless is_plain
  const unsigned char *const constants = ${prefix}_weights;
  (void)constants;
%end is_plain
  unsigned char *const memory = (unsigned char *)workspace;
%if has_state
  unsigned char *const kept = (unsigned char *)state;
%end has_state
