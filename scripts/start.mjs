// `npm start`: the whole hub on this machine. Data stays in ROOKERY_STATE_DIR (.rookery).
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { watchDisk } from './disk.mjs'
import { describeModels, findLocalModels } from './local-models.mjs'
import { findStateDir, PlainError, root } from './local-state.mjs'
import { returnFreedMemory } from './return-freed-memory.mjs'
import { runCli } from './run-cli.mjs'
import { readNamedKeys, seedAgents } from './seed-agents.mjs'

const orphanCheckMs = 500
const diskCheckMs = 60_000
/** A start that takes longer says so. */
const quietMs = 3_000
/** Agents that a start counts. */
const agentsMax = 100

returnFreedMemory()
// The next start need not compile what this one imports, nor load the compiler that takes types out of scripts: what the
// lines above import is read before this, and so is no TypeScript.
module.enableCompileCache?.(join(root, 'dist/scripts'))
await runCli(async () => {
  const stopRequest = listenForStop()
  checkNode()
  const { startHub } = await import('./hub-runtime.mjs')
  const { describeMissingSettings, describeUnknownSettings } = await import(
    './unknown-settings.mjs'
  )
  const stateDir = findStateDir(process.env)
  const bindings = readNamedKeys(process.env)
  const unknown = describeUnknownSettings(process.env, Object.keys(bindings))
  for (const warning of [...unknown, ...describeMissingSettings(process.env)]) {
    console.error(warning)
  }
  /** @type {import('./hub-runtime.mjs').Agents} */
  let agents = { state: 'loading', failed: 0 }
  const starting = startHub({
    port: readPort(process.env.PORT),
    stateDir,
    env: process.env,
    bindings,
    readAgents: () => agents,
    findModels: () => findLocalModels(),
    leaveSignals: true,
  })
  const patience = setTimeout(
    () => console.log('  Preparing the hub. The first start of a version takes longer.'),
    quietMs,
  )
  const first = await Promise.race([starting, stopRequest]).finally(() => clearTimeout(patience))
  if (first === undefined) {
    console.error('Stopped before the hub had started, by a signal or because npm had ended.')
    process.exit(0)
  }
  const stopping = stopRequest.then(() => first.stop()).then(() => process.exit(0))
  const checkDisk = watchDisk(stateDir, console.error)
  setInterval(checkDisk, diskCheckMs).unref()
  try {
    const { client, loaded, failed } = await loadAgents(first)
    agents = { state: 'loaded', failed: failed.length }
    await introduce(first, client, loaded, failed)
    await checkDisk()
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
      const parents = findParents()
      const check = () => findParents().join() !== parents.join() && stop()
      setInterval(check, orphanCheckMs).unref()
    })
  )
}

/**
 * The process that started this one, and where that is npm's shell, npm: a shell outlives the npm that is killed. Only Linux
 * says whose child another process is without a program of its own; elsewhere the shell's end is noticed.
 */
function findParents() {
  const shell = process.ppid
  const script = process.env.npm_lifecycle_script ?? ''
  try {
    const isShell = script !== '' && readFileSync(`/proc/${shell}/cmdline`, 'utf8').includes(script)
    if (!isShell) return [shell]
    // Behind the name, which may have spaces and brackets: the state, then the parent.
    const [, parent] =
      readFileSync(`/proc/${shell}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return [shell, Number(parent)]
  } catch {
    return [shell]
  }
}

/** @param {import('./hub-runtime.mjs').Hub} hub */
async function loadAgents(hub) {
  const { HubClient } = await import('../client/index.ts')
  const client = new HubClient({ url: hub.url, key: hub.adminKey })
  return { client, ...(await seedAgents(client, undefined)) }
}

/**
 * Prints that the hub is ready with its agents: addresses, and what to try.
 * @param {import('./hub-runtime.mjs').Hub} hub
 * @param {import('../client/index.ts').HubClient} client
 * @param {string[]} loaded names of agents
 * @param {string[]} failed folders
 */
async function introduce(hub, client, loaded, failed) {
  const { demand } = await import('./hub-client.mjs')
  const { url: link } = await demand(client.call('POST /sessions/link', { body: {} }))
  const { auto } = await demand(client.call('GET /models'))
  const { areLoopbackOrigins } = await import('../src/shared/ip-address.ts')
  // A hub that others reach does not use what is on this machine.
  const origins = process.env.ROOKERY_ORIGIN?.split(',').map((origin) => origin.trim())
  const isOwn = areLoopbackOrigins(origins)
  const local = hub.url.replace('127.0.0.1', 'localhost')
  // It answers under its own name alone.
  const address = isOwn ? local : (origins?.[0] ?? local)
  const { pathname, search } = new URL(link, address)
  const { chooseStarter, firstQuestions, starterAgent } = await import(
    '../src/shared/starter-agent.ts'
  )
  const agent = chooseStarter(loaded) ?? starterAgent
  const hosted = await demand(
    client.call('GET /accounts', { query: { kind: 'agent', is_hosted: 'true', limit: agentsMax } }),
  )
  const count = `${hosted.accounts.length}${hosted.has_more ? ' or more' : ''}`
  const missing = failed.length > 0 ? `; not loaded: ${failed.join(', ')} (see above)` : ''
  console.log(`
  Rookery    ${address}
  Sign in    ${address}${pathname}${search}
             (as admin; works once, within a day)
  Agents     ${count} ready${missing}
  Try        @${agent} ${firstQuestions.model}
             (as a post in m/general)
  Models     ${await describeModels(auto[0], address, isOwn && !process.env.OPENAI_COMPATIBLE_BASE_URL ? findLocalModels : async () => [])}
  Stop       Ctrl-C; everything is kept for the next start
`)
}
