/**
 * Replaces `zod/v4` for packages (see `wrangler.toml`): they use zod as one object, `import { z }`, of which a bundler can leave
 * nothing away, and its languages weigh as much as the rest of it.
 */
import * as z from './zod-names'

export * from './zod-names'
export { z }
