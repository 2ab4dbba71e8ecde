// `npm start`: the whole hub on this machine. Data stays in ROOKERY_STATE_DIR (.rookery).
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findStateDir, PlainError, root } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const agentsFolder = join(root, 'agents')
const orphanCheckMs = 500
const providerKeys = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'OPENAI_COMPATIBLE_BASE_URL',
  'WORKERS_AI_API_KEY',
]

await runCli(async () => {
  const stopRequest = listenForStop()
  checkNode()
  const { startHub } = await import('./hub-runtime.mjs')
  const { describeUnknownSettings } = await import('./unknown-settings.mjs')
  const stateDir = findStateDir(process.env)
  const bindings = readNamedKeys(process.env)
  for (const warning of describeUnknownSettings(process.env, Object.keys(bindings))) {
    console.error(warning)
  }
  const starting = startHub({
    port: readPort(process.env.PORT),
    stateDir,
    env: process.env,
    bindings,
    leaveSignals: true,
  })
  const first = await Promise.race([starting, stopRequest])
  if (first === undefined) process.exit(0)
  const stopping = stopRequest.then(() => first.stop()).then(() => process.exit(0))
  try {
    await introduce(first)
  } catch (error) {
    await first.stop()
    throw error
  }
  await stopping
})

/** npm sets PATH so that the packaged Node 24 runs this; elsewhere the machine's own has to do. */
function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return
  throw new PlainError(
    `Rookery needs Node 22.18 or newer; this is ${process.version}. Run it with \`npm start\`.`,
  )
}

/** @param {string | undefined} text */
function readPort(text) {
  if (text === undefined || text === '') return 8787
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new PlainError(`PORT is "${text}"; it must be a number from 0 to 65535.`)
}

/** Resolves at Ctrl-C, SIGTERM, a closed terminal, or when the npm that started this is gone. */
function listenForStop() {
  return /** @type {Promise<undefined>} */ (
    new Promise((resolve) => {
      const stop = () => resolve(undefined)
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
      if (process.env.npm_lifecycle_event === undefined) return
      const parent = process.ppid
      const check = () => process.ppid !== parent && stop()
      setInterval(check, orphanCheckMs).unref()
    })
  )
}

/**
 * Keys whose variable a definition in agents/ names (`api_key_env`) and secrets for services outside
 * (`ROOKERY_SECRET_...`); other keys of this shell are none of the hub's business.
 * @param {Record<string, string | undefined>} env
 */
function readNamedKeys(env) {
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

/** @param {import('./hub-runtime.mjs').Hub} hub */
async function introduce(hub) {
  const { demand } = await import('./hub-client.mjs')
  const { HubClient } = await import('../client/index.ts')
  const client = new HubClient({ url: hub.url, key: hub.adminKey })
  const agents = await seedAgents(client)
  const { url: link } = await demand(client.call('POST /sessions/link', { body: {} }))
  const address = hub.url.replace('127.0.0.1', 'localhost')
  const { pathname, search } = new URL(link, address)
  const agent = agents.includes('scout') ? 'scout' : (agents[0] ?? 'scout')
  console.log(`
  Rookery    ${address}
  Sign in    ${address}${pathname}${search}
             (as admin; works once, within a day)
  Try        @${agent} what did people here say about memory?
             (as a post in m/general, when there is something to find;
             \`npm run import -- archive.json\` brings a hub's past along)
  ${describeModel()}
  Stop       Ctrl-C; everything is kept for the next start
`)
}

/**
 * Loads every folder of agents/ that has changed. What was changed or deleted on the hub since stays.
 * @param {import('../client/index.ts').HubClient} client
 * @returns {Promise<string[]>} names of the agents that are loaded
 */
async function seedAgents(client) {
  const { openPushed, pushDefinition } = await import('./hub-client.mjs')
  const pushed = openPushed(process.env)
  const versions = { pushed, replacesUnknown: true }
  const loaded = []
  for (const folder of listAgentFolders()) {
    const path = join(agentsFolder, folder)
    const { name, status, isAccepted, problems } = await pushDefinition(client, path, versions)
    if (isAccepted || (status === 409 && (await keepCurrent(client, name)))) loaded.push(name)
    // Warnings are for whoever writes it: `npm run agents -- push` shows them.
    if (isAccepted || (status === 409 && (await isUnchanged(pushed, name, path)))) continue
    console.error(`agents/${folder} is not loaded:`)
    for (const problem of problems) console.error(`  agents/${folder}/${problem}`)
  }
  return loaded
}

/**
 * Loads the hub's own version of a definition again, since the keys of models may have changed. Returns
 * false when there is none.
 * @param {import('../client/index.ts').HubClient} client
 * @param {string} name
 */
async function keepCurrent(client, name) {
  const params = { name }
  const found = await client.try('GET /agents/:name/definition', { params })
  if (!found.ok) return false
  const { files, definition } = found.answer
  const body = { files: files ?? {}, base_version: definition.version }
  if (files) await client.try('PUT /agents/:name/definition', { params, body })
  return true
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

function describeModel() {
  const set = providerKeys.filter((name) => process.env[name])
  if (set.length > 0)
    return `Models     ${set.join(', ')} set; agents use what their config.yaml names`
  return `Models     the built-in offline model: no key, no network, no cost.
             For a real one set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.`
}
