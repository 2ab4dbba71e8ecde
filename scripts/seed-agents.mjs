// Loads the folders of agents/ into a hub, and finds the keys that their definitions name.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './local-state.mjs'

const agentsFolder = join(root, 'agents')

/**
 * Keys whose variable a definition in agents/ names (`api_key_env`) and secrets for services outside
 * (`ROOKERY_SECRET_...`); other keys of this shell are none of the hub's business.
 * @param {Record<string, string | undefined>} env
 */
export function readNamedKeys(env) {
  /** @type {Record<string, string>} */
  const keys = {}
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith('ROOKERY_SECRET_') && value) keys[name] = value
  }
  for (const name of listAgentFolders()) {
    const path = join(agentsFolder, name, 'config.yaml')
    const config = existsSync(path) ? readFileSync(path, 'utf8') : ''
    for (const [, variable = ''] of config.matchAll(/^\s*api_key_env:\s*["']?([A-Z0-9_]+)/gm)) {
      const value = env[variable]
      if (value) keys[variable] = value
    }
  }
  return keys
}

function listAgentFolders() {
  if (!existsSync(agentsFolder)) return []
  const entries = readdirSync(agentsFolder, { withFileTypes: true })
  // `skills` holds the skills that agents share.
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== 'skills')
  return folders.map((entry) => entry.name).sort()
}

/**
 * Loads every folder of agents/ that has changed, then posts the welcome thread in a hub without any post. What was changed or deleted on the hub since stays, and so does an
 * agent of somebody else that has the name of a folder. A folder that is not loaded is reported, and the others are
 * loaded all the same.
 * @param {import('../client/index.ts').HubClient} client
 * @param {string | undefined} hub URL of another hub; that of this machine when absent
 * @returns {Promise<{ loaded: string[], failed: string[] }>} names of the agents that have a version of their folder
 *   or a later one of the hub's; names of the folders that were reported
 */
export async function seedAgents(client, hub) {
  const { openPushed } = await import('./hub-client.mjs')
  const pushed = openPushed(process.env, hub)
  const loaded = []
  const failed = []
  for (const folder of listAgentFolders()) {
    const { name, isActive, problems } = await loadFolder(client, folder, pushed)
    if (isActive) loaded.push(name)
    if (problems === null) continue
    failed.push(folder)
    console.error(`agents/${folder} is not loaded:`)
    for (const problem of problems) console.error(`  agents/${folder}/${problem}`)
  }
  const welcome = await client.try('POST /system/welcome')
  if (!welcome.ok) console.error(`The welcome thread is not posted: ${welcome.error.message}`)
  return { loaded, failed }
}

/**
 * @param {import('../client/index.ts').HubClient} client
 * @param {string} folder
 * @param {import('../client/command/pushed-versions.ts').PushedVersions} pushed
 * @returns {Promise<{ name: string, isActive: boolean, problems: string[] | null }>} `isActive`: the agent can be
 *   mentioned; `problems`: why it does not have what is in the folder, else null
 */
async function loadFolder(client, folder, pushed) {
  const path = join(agentsFolder, folder)
  try {
    const { pushDefinition } = await import('./hub-client.mjs')
    const versions = { pushed, replacesUnknown: true }
    const { name, status, isAccepted, problems } = await pushDefinition(client, path, versions)
    // Warnings are for whoever writes it: `npm run agents -- push` shows them.
    if (isAccepted) return { name, isActive: true, problems: null }
    const isConflict = status === 409
    const isActive = isConflict && (await keepCurrent(client, name))
    const isKnown = isConflict && (await isUnchanged(pushed, name, path))
    return { name, isActive, problems: isKnown ? null : problems }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { name: folder, isActive: false, problems: [problem] }
  }
}

/**
 * Loads the hub's own version of a definition again, since the keys of models may have changed. Returns
 * false when there is none, and for an agent of somebody else.
 * @param {import('../client/index.ts').HubClient} client
 * @param {string} name
 */
async function keepCurrent(client, name) {
  const params = { name }
  if (await isOfSomebodyElse(client, name)) return false
  const found = await client.try('GET /agents/:name/definition', { params })
  if (!found.ok) return false
  const { files, definition } = found.answer
  const body = { files: files ?? {}, base_version: definition.version }
  if (files) await client.try('PUT /agents/:name/definition', { params, body })
  return true
}

/**
 * @param {import('../client/index.ts').HubClient} client
 * @param {string} name
 */
async function isOfSomebodyElse(client, name) {
  const profile = await client.try('GET /accounts/:name', { params: { name } })
  const owner = profile.ok ? profile.answer.account.owner_id : null
  if (owner === null) return false
  const { account } = await client.call('GET /me')
  return owner !== account.id
}

/**
 * Whether a folder is as it was loaded the last time.
 * @param {import('../client/command/pushed-versions.ts').PushedVersions} pushed
 * @param {string} name
 * @param {string} folder
 */
async function isUnchanged(pushed, name, folder) {
  const { readDefinition } = await import('../client/command/definition-folder.ts')
  return pushed.isUnchanged(name, readDefinition(folder))
}
