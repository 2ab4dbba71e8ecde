import { reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'

/** No table is there: what the file before left behind is gone. */
const isEmpty = async (): Promise<boolean> =>
  (await env.DB.prepare("SELECT 1 FROM sqlite_master WHERE name = 'accounts'").first()) === null

// A file that shares its Worker begins as the first one did: no row, no table, no object. On a busy
// machine a reset now and then leaves the database as it was.
let resets = 0
do {
  if (++resets > 10) throw new Error('The database of the file before cannot be emptied.')
  await reset()
} while (!(await isEmpty()))
