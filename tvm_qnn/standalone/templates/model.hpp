/* The model of ${prefix}.h as a class of C++11.
 * All its memory is in the object, so a static one is best. */
#ifndef ${macro}_HPP
#define ${macro}_HPP

#include <stdint.h>

#include "${prefix}.h"

class ${prefix}_model {
 public:
%each tensors
  ${type} *${kind}${number}() { return reinterpret_cast<${type} *>(${member}); }
%end tensors
%if has_state

  /* Begin a stream of runs: before the first one, and wherever another stream begins. */
  bool reset() { return !${prefix}_reset(state_); }
%end has_state

  /* Run the model once; false if it did not run, which a whole object always does. */
  bool run() {
%unless has_arena
    const void *inputs[] = {${input_members}};
    void *outputs[] = {${output_members}};
%end has_arena
    return !${prefix}_run(${member_arguments});
  }

 private:
%each blocks
  alignas(${macro}_ALIGNMENT) unsigned char ${block}_[${length}];
%end blocks
};

#endif
