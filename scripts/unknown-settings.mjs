// Settings that only the commands on this machine read, and a word about those that nobody reads, or that are missing.
import { isLoopbackHost } from '../src/shared/ip-address.ts'
import { settingsSchema } from '../src/shared/settings.ts'

/** Name, default, what it does; for docs/reference.md. */
export const launcherSettings = /** @type {const} */ ([
  ['PORT', '8787', 'Where `npm start` listens, on 127.0.0.1; 0 takes a free port.'],
  ['ROOKERY_STATE_DIR', '.rookery', 'Where `npm start` keeps all data.'],
  [
    'ROOKERY_URL',
    'the hub on this machine',
    'The hub that commands such as `npm run backup` and `npm run agents` talk to.',
  ],
])

/**
 * A sentence for each ROOKERY_ variable that is set and means nothing: most likely it is misspelt.
 * @param {Record<string, string | undefined>} env
 * @param {string[]} alsoKnown variables that definitions of agents name
 */
export function describeUnknownSettings(env, alsoKnown) {
  const known = [...Object.keys(settingsSchema.shape), ...launcherSettings.map(([name]) => name)]
  const settings = known.filter((name) => name.startsWith('ROOKERY_'))
  return Object.keys(env)
    .filter((name) => name.startsWith('ROOKERY_'))
    .filter((name) => !settings.includes(name) && !alsoKnown.includes(name))
    .map((name) => {
      const nearest = settings.toSorted((a, b) => countEdits(name, a) - countEdits(name, b))[0]
      return `${name} is no setting and changes nothing; did you mean ${nearest}?`
    })
}

/**
 * A sentence for each setting that is missing on a hub which can be reached from elsewhere.
 * @param {Record<string, string | undefined>} env
 */
export function describeMissingSettings(env) {
  const origins = (env.ROOKERY_ORIGIN ?? '').split(',').map((origin) => URL.parse(origin.trim()))
  const open = origins.find((url) => url !== null && !isLoopbackHost(url.hostname))
  if (!open || env.ROOKERY_CLIENT_ADDRESS_HEADER) return []
  return [
    `${open.origin} is reached from elsewhere, and ROOKERY_CLIENT_ADDRESS_HEADER is not set: all clients without a key share one limit, so one of them can keep the others from reading and from signing in. Set it to the header that your proxy writes: docs/operating.md`,
  ]
}

/**
 * Levenshtein's distance: letters to insert, delete or replace.
 * @param {string} from
 * @param {string} to
 */
function countEdits(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const letter of from) {
    /** @type {number[]} */
    const next = [(row[0] ?? 0) + 1]
    for (let at = 1; at <= to.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (letter === to[at - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
