// Talks to a running hub as its admin, with the client of client/.
import { join } from 'node:path'
import { CommandError } from '../client/command/command.ts'
import { pushFolder } from '../client/command/definition-folder.ts'
import { PushedVersions } from '../client/command/pushed-versions.ts'
import { HubClient, HubError } from '../client/index.ts'
import {
  demoStateDir,
  findAdminKey,
  findRunningHub,
  findStateDir,
  PlainError,
} from './local-state.mjs'

/**
 * The hub that ROOKERY_URL names, else the one that runs on the state directory.
 * @param {Record<string, string | undefined>} env
 * @throws PlainError when none runs there
 */
export function connect(env) {
  const stateDir = findStateDir(env)
  const url = env.ROOKERY_URL || findRunningHub(stateDir)?.url
  if (!url) throw new PlainError(describeNoHub(stateDir))
  const key = findAdminKey(stateDir, env)
  if (key === null) {
    throw new PlainError(
      `There is no admin key in ${stateDir}. Set ROOKERY_ADMIN_KEY to the key of the hub's admin.`,
    )
  }
  return new HubClient({ url, key })
}

/**
 * Says where no hub runs, and where one does: that of `npm start` and that of `npm run demo` have folders of their own.
 * @param {string} stateDir
 */
function describeNoHub(stateDir) {
  const others = [findStateDir({}), demoStateDir].filter((folder) => folder !== stateDir)
  const other = others.find((folder) => findRunningHub(folder) !== null)
  const fix =
    other === undefined
      ? 'Start it with `npm start`, or set ROOKERY_STATE_DIR to the folder of a hub that runs, or ROOKERY_URL.'
      : `One runs on ${other}: set ROOKERY_STATE_DIR=${other}.`
  return `No hub runs on ${stateDir}. ${fix}`
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
    if (error instanceof CommandError) {
      throw new PlainError([error.message, error.hint].filter(Boolean).join(' '))
    }
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
 * Opens what this machine pushed to a hub and pulled from it.
 * @param {Record<string, string | undefined>} env
 * @param {string | undefined} [hub] address of another hub than that of this machine
 */
export const openPushed = (env, hub) =>
  new PushedVersions(join(findStateDir(env), 'pushed.json'), hub || 'local')

/**
 * Sends a definition's folder to the hub: see `pushFolder`.
 *
 * @param {HubClient} client
 * @param {string} folder
 * @param {import('../client/command/definition-folder.ts').Versions} versions
 * @returns {Promise<{ name: string, status: number, isAccepted: boolean, problems: string[] }>} warnings
 *   when accepted
 */
export async function pushDefinition(client, folder, versions) {
  const { name, warnings, held, error } = await pushFolder(client, folder, versions)
  const problems = held === null ? warnings : [...warnings, held]
  if (error === null) return { name, status: 200, isAccepted: true, problems }
  const { status } = error
  const details =
    status === 409 ? [] : error.details.map(({ path, message }) => `${path}: ${message}`)
  return {
    name,
    status,
    isAccepted: false,
    problems: details.length ? details : [describeRefusal(error)],
  }
}
