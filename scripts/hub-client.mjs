// Talks to a running hub as its admin, with the client of client/.
import { pushFolder } from '../client/command/definition-folder.ts'
import { HubClient, HubError } from '../client/index.ts'
import { findAdminKey, findStateDir, PlainError, readRunningHub } from './local-state.mjs'

/**
 * The hub that ROOKERY_URL names, else the one that runs on the state directory, else the default.
 * @param {Record<string, string | undefined>} env
 */
export function connect(env) {
  const stateDir = findStateDir(env)
  const key = findAdminKey(stateDir, env)
  if (key === null) {
    throw new PlainError(
      'There is no admin key. Start the hub once with `npm start`, or set ROOKERY_ADMIN_KEY.',
    )
  }
  const url = env.ROOKERY_URL || readRunningHub(stateDir)?.url || 'http://localhost:8787'
  return new HubClient({ url, key })
}

/**
 * Returns the answer of a call; a refusal is a sentence for a person.
 * @template Answer
 * @param {Promise<Answer>} call
 */
export async function demand(call) {
  try {
    return await call
  } catch (error) {
    throw error instanceof HubError ? new PlainError(describeRefusal(error)) : error
  }
}

/** @param {HubError} error */
function describeRefusal({ code, status, message, hint, details }) {
  if (code === 'UNREACHABLE') return `${message} Start it with \`npm start\`, or set ROOKERY_URL.`
  if (status === 401 || status === 403) {
    return `${message} Set ROOKERY_ADMIN_KEY to the key of the hub's admin.`
  }
  const lines = details.map((each) => `\n  ${each.path}: ${each.message}`)
  return [message, hint].filter(Boolean).join(' ') + lines.join('')
}

/**
 * Sends a definition's folder to the hub, which checks it and keeps the old version when it is
 * broken.
 *
 * @param {HubClient} client
 * @param {string} folder
 * @returns {Promise<{ name: string, isAccepted: boolean, problems: string[] }>} warnings when
 *   accepted
 */
export async function pushDefinition(client, folder) {
  const { name, warnings, error } = await pushFolder(client, folder)
  if (error === null) return { name, isAccepted: true, problems: warnings }
  const problems = error.details.map(({ path, message }) => `${path}: ${message}`)
  return {
    name,
    isAccepted: false,
    problems: problems.length ? problems : [describeRefusal(error)],
  }
}
