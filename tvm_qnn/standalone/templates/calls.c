%each calls
  ${macro}_HOOK(${call_number}, ${layer});
  ${call};
%end calls
