// The hub on this machine: workerd through Miniflare, without the development proxy (measured:
// ten times the requests). `npm start`, benchmarks and crash tests all start it here.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { extname, join } from 'node:path'
import { readSettings, settingsSchema } from '../src/shared/settings.ts'
import { applyMigrations } from './apply-migrations.mjs'
import { buildWorker, quietWranglerEnv } from './build-worker.mjs'
import { claimStateDir } from './claim-state-dir.mjs'
import { readDisk } from './disk.mjs'
import {
  bindLocalDatabase,
  databaseFlag,
  machineBinding,
  openDatabase,
} from './local-database/plugin.mjs'
import {
  ensureAdminKey,
  ensureVaultKey,
  PlainError,
  root,
  writeRunningHub,
} from './local-state.mjs'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, Response } from './miniflare.mjs'
import { describeLogLine } from './print-log.mjs'
import { watchClock } from './watch-clock.mjs'

const host = '127.0.0.1'
/** How long a start waits for a first answer: on a busy machine it takes more than a minute. */
const answerWaitMs = 300_000
/** How long a hub that answers may say that it is not well. */
const healthWaitMs = 30_000
/** How long a hub that stops has to say so to its browsers and runners. */
const announceMs = 10_000
/** How long it may take until the end of a runtime is noticed. */
const endWaitMs = 5_000
/**
 * Four MiB for new objects in each isolate instead of sixteen: after 32,000 reads workerd takes 190 MiB instead of 590, at
 * the same CPU a request.
 */
const workerdFlags = '--max-semi-space-size=4'

/**
 * How far loading the folders of `agents/` is, as the hub reads it from its binding; `failed` counts those refused.
 * @typedef {{ state: 'loading' | 'loaded', failed: number }} Agents
 */

/** @returns {Agents} */
const noAgentsToLoad = () => ({ state: 'loaded', failed: 0 })

/**
 * @typedef {object} HubOptions
 * @property {number} [port] 0 (the default) takes a free one
 * @property {string} stateDir everything the hub keeps; made when missing
 * @property {Record<string, string | undefined>} [env] settings are read from here (none by default)
 * @property {string} [bundlePath] a directory made by `buildWorker`; built when not given
 * @property {Record<string, string>} [bindings] more variables for the Worker, for tests
 * @property {() => Agents} [readAgents] how far the caller is with loading agents; by default it loads none
 * @property {() => Promise<import('./local-models.mjs').LocalServer[]>} [findModels] looks for servers of models on this
 *   machine, for the page of models; by default there are none
 * @property {boolean} [leaveSignals] true: the caller handles SIGINT, SIGTERM and SIGHUP itself
 *
 * @typedef {object} Hub
 * @property {string} url without a slash at its end
 * @property {string} adminKey
 * @property {number} workerdPid of the runtime that runs now
 * @property {() => Promise<import('@cloudflare/workers-types').D1Database>} openDatabase the database,
 *   as the Worker sees it
 * @property {() => Promise<void>} stop ends everything it started
 * @property {() => Promise<void>} kill SIGKILLs the runtime, as a power cut would; the data stays
 */

/**
 * Starts a hub and waits until GET /healthz answers 200. Throws PlainError for what a person can
 * mend: a taken port, wrong settings, a Worker that does not build.
 *
 * @param {HubOptions} options
 * @returns {Promise<Hub>}
 */
export async function startHub(options) {
  Object.assign(process.env, quietWranglerEnv)
  process.env.MINIFLARE_WORKERD_V8_FLAGS ??= workerdFlags
  const settings = readSettingBindings(options.env ?? {})
  const release = await claimStateDir(options.stateDir)
  try {
    return await runHub(options, settings, release)
  } catch (error) {
    release()
    throw error
  }
}

/**
 * @param {HubOptions} options
 * @param {Record<string, string>} settings
 * @param {() => void} release gives the state directory back
 */
async function runHub(options, settings, release) {
  const { port = 0, stateDir, env = {}, leaveSignals = false } = options
  const { readAgents = noAgentsToLoad, findModels = async () => [] } = options
  const adminKey = ensureAdminKey(stateDir, env)
  const dataDir = join(stateDir, 'data')
  const bundle = readBundle(options.bundlePath ?? (await buildWorker()), dataDir)
  /** @type {ChildProcess[]} */
  const started = []
  let url = ''
  // Should this process be killed, the next start has to know the runtime that is left: the one that
  // migrates, the one that serves, and the one that Miniflare starts when that crashes.
  const noteDown = () =>
    writeRunningHub(stateDir, { pid: process.pid, workerdPid: findWorkerdPid(started), url })
  const keepTrack = (/** @type {ChildProcess} */ child) => {
    started.push(child)
    child.once('spawn', () => url === '' && isWorkerd(child) && noteDown())
  }
  const runtime = {
    host,
    cf: false,
    resourcePersistencePath: dataDir,
    serviceBindings: {
      [machineBinding]: async (/** @type {{ url: string }} */ { url }) =>
        Response.json(
          new URL(url).pathname === '/models'
            ? await findModels()
            : { disk: await readDisk(stateDir), agents: readAgents() },
        ),
    },
    log: new Log(LogLevel.ERROR),
    handleStructuredLogs: (/** @type {{ message: string }} */ { message }) => {
      const line = describeLogLine(message, process.stderr.isTTY === true)
      if (line !== null) console.error(line)
    },
  }
  const explainError = (/** @type {unknown} */ error) => explain(error, port, started)
  await startedFor.run(keepTrack, () => migrate(runtime, bundle, explainError))

  const forgetSignals = leaveSignals ? rememberSignalListeners() : () => {}
  const miniflare = startedFor.run(
    keepTrack,
    () =>
      new Miniflare(
        convertV4MiniflareOptions({
          ...runtime,
          ...bundle.options,
          ...bundle.source,
          serviceBindings: { ...runtime.serviceBindings, ...bundle.folders },
          // Straight to the Worker. Miniflare's own port leads through a Worker of its own, which costs 0.5 ms of
          // CPU a request and has paths for development that a hub must not have.
          unsafeDirectSockets: [{ host, port }],
          // Nothing here uses it, and its simulation is a Worker of its own.
          cacheAPI: false,
          unsafeHandleRuntimeRestart: noteDown,
          bindings: {
            ...bundle.options.bindings,
            // Cloudflare's header, which a client of this machine could send itself.
            ROOKERY_CLIENT_ADDRESS_HEADER: '',
            ROOKERY_PUBLIC: 'true',
            ...settings,
            ROOKERY_ADMIN_KEY: adminKey,
            ROOKERY_VAULT_KEY: ensureVaultKey(stateDir, env),
            ...options.bindings,
          },
        }),
      ),
  )
  forgetSignals()
  const hub = describeHub(miniflare, started, adminKey, release)
  try {
    url = (await miniflare.unsafeGetDirectURL()).origin
    hub.url = url
    noteDown()
    await waitForHealth(hub.url)
    return hub
  } catch (error) {
    // before the stop, which ends the runtime with a signal, too
    const reason = await explain(error, port, started)
    await hub.stop().catch(() => {})
    throw reason
  }
}

/**
 * @param {import('miniflare').Miniflare} miniflare
 * @param {ChildProcess[]} started
 * @param {string} adminKey
 * @param {() => void} release gives the state directory back
 * @returns {Hub}
 */
function describeHub(miniflare, started, adminKey, release) {
  // Miniflare starts another runtime in place of one that ended.
  const restart = async () => {
    console.error('The clock was set back, so the hub starts again.')
    await announceStop(hub)
    started.findLast(isWorkerd)?.kill('SIGKILL')
  }
  const forgetClock = watchClock(() => void restart())
  const end = async () => {
    forgetClock()
    await miniflare.dispose()
    release()
  }
  const stop = async () => {
    await announceStop(hub)
    await end()
  }
  const kill = async () => {
    process.kill(findWorkerdPid(started), 'SIGKILL')
    await end()
  }
  const hub = {
    url: '',
    adminKey,
    get workerdPid() {
      return findWorkerdPid(started)
    },
    openDatabase: () => openDatabase(miniflare),
    stop,
    kill,
  }
  return hub
}

/**
 * Lets the hub close its sockets with a code, so that browsers and runners know that it will be back. Without it, or when
 * the hub does not answer soon, they see connections that broke.
 * @param {Pick<Hub, 'url' | 'adminKey'>} hub
 */
async function announceStop({ url, adminKey }) {
  if (url === '') return
  await fetch(`${url}/api/v1/system/announce-stop`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
    signal: AbortSignal.timeout(announceMs),
  }).catch(() => {})
}

/**
 * @param {{ resourcePersistencePath: string }} runtime
 * @param {ReturnType<typeof readBundle>} bundle
 * @param {(error: unknown) => Promise<unknown>} [explainError]
 */
export function migrate(runtime, { migrations, options }, explainError) {
  const { name, unsafeBindings, compatibilityDate, compatibilityFlags } = options
  const worker = { name, unsafeBindings, compatibilityDate, compatibilityFlags, modules: true }
  const describeWorker = (/** @type {string} */ script) =>
    convertV4MiniflareOptions({ ...runtime, ...worker, port: 0, script })
  return applyMigrations(runtime.resourcePersistencePath, migrations, describeWorker, explainError)
}

/**
 * The settings that are set, as bindings of the Worker.
 * @param {Record<string, string | undefined>} env
 * @returns {Record<string, string>}
 */
function readSettingBindings(env) {
  try {
    readSettings(env)
  } catch (error) {
    throw new PlainError(error instanceof Error ? error.message : String(error))
  }
  /** @type {Record<string, string>} */
  const given = {}
  for (const name of Object.keys(settingsSchema.shape)) {
    const value = env[name]
    if (value) given[name] = value
  }
  return given
}

/** @type {Record<string, 'Text' | 'Data' | 'CompiledWasm'>} */
const moduleTypes = { '.wasm': 'CompiledWasm', '.bin': 'Data' }

/**
 * A bundle is one script, `worker.js`, and the files it imports as text or bytes.
 * @param {string} directory
 * @param {string} dataDir
 */
export function readBundle(directory, dataDir) {
  const modulesRoot = join(directory, 'worker')
  const others = readdirSync(modulesRoot).filter(
    (name) => !['worker.js', 'worker.js.map', 'README.md'].includes(name),
  )
  const describe = (/** @type {string} */ name) => ({
    type: moduleTypes[extname(name)] ?? /** @type {const} */ ('Text'),
    path: join(modulesRoot, name),
  })
  const main = { type: /** @type {const} */ ('ESModule'), path: join(modulesRoot, 'worker.js') }
  const { worker, migrations } = JSON.parse(readFileSync(join(directory, 'local.json'), 'utf8'))
  // Without the platform's rate limiters: each call of one costs a millisecond, and memory counts too.
  // And folders without the platform's two Workers for them: workerd reads them itself.
  const { ratelimits: _ratelimits, d1Databases, assets, ...options } = worker
  const folders = {
    [assets.binding]: { disk: { path: join(root, assets.directory), writable: false } },
  }
  options.compatibilityFlags = [...options.compatibilityFlags, databaseFlag]
  options.unsafeBindings = Object.entries(d1Databases).map(([name, { id }]) =>
    bindLocalDatabase(name, id, dataDir, true),
  )
  return {
    migrations,
    options,
    folders,
    source: { modulesRoot, modules: [main, ...others.map(describe)] },
  }
}

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/**
 * Miniflare does not say which processes it starts; Node does, and the async context says for
 * which of several hubs in this process.
 * @type {AsyncLocalStorage<(child: ChildProcess) => void>}
 */
const startedFor = new AsyncLocalStorage()
subscribe('child_process', (message) => {
  const { process: child } = /** @type {{ process: ChildProcess }} */ (message)
  startedFor.getStore()?.(child)
})

/** @param {ChildProcess} child */
function isWorkerd(child) {
  return child.spawnfile?.includes('workerd')
}

/** @param {ChildProcess[]} started */
function findWorkerdPid(started) {
  const pid = started.findLast(isWorkerd)?.pid
  if (pid === undefined) throw new Error('Miniflare started no workerd.')
  return pid
}

/** Miniflare's own handlers would end this process at once, with an error code. */
function rememberSignalListeners() {
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  const before = new Map(signals.map((signal) => [signal, process.listeners(signal)]))
  return () => {
    for (const signal of signals) {
      for (const listener of process.listeners(signal)) {
        if (!before.get(signal)?.includes(listener)) process.removeListener(signal, listener)
      }
    }
  }
}

/** @param {string} url */
async function waitForHealth(url) {
  let until = Date.now() + answerWaitMs
  for (;;) {
    const answer = await fetch(`${url}/healthz`).catch(() => null)
    if (answer?.status === 200) return
    if (answer) until = Math.min(until, Date.now() + healthWaitMs)
    if (Date.now() > until) {
      const said = answer ? `${answer.status}: ${(await answer.text()).slice(0, 500)}` : 'nothing'
      throw new PlainError(`The hub does not get healthy; /healthz answers ${said}.`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/**
 * @param {unknown} error
 * @param {number} port
 * @param {ChildProcess[]} started
 */
async function explain(error, port, started) {
  const runtime = started.findLast(isWorkerd)
  // Its end may be noticed after the connection to it broke.
  if (runtime && !(error instanceof PlainError)) await waitForEnd(runtime)
  const signal = runtime?.signalCode
  if (signal) {
    return new PlainError(
      `The hub's runtime (workerd) was ended by ${signal} while it started. Nothing is lost: start again. ` +
        'Linux ends programs with SIGKILL when memory is short; `dmesg` says so.',
    )
  }
  if (error instanceof Error && 'code' in error && error.code === 'ERR_ADDRESS_IN_USE') {
    const command = process.env.npm_lifecycle_event === 'demo' ? 'npm run demo' : 'npm start'
    return new PlainError(
      `Port ${port} is in use. Stop the program that listens there, ` +
        `or use a port that is free: PORT=${await findFreePort(port)} ${command}`,
    )
  }
  return error
}

/** @param {ChildProcess} child */
async function waitForEnd(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const patience = new AbortController()
  const ended = once(child, 'exit', { signal: patience.signal }).catch(() => {})
  const timer = setTimeout(() => patience.abort(), endWaitMs)
  await ended
  clearTimeout(timer)
}

/**
 * Returns the next port on which nothing listens.
 * @param {number} taken
 * @returns {Promise<number>} any free one when the next hundred are taken
 */
async function findFreePort(taken) {
  for (let port = taken + 1; port <= Math.min(taken + 100, 65_535); port++) {
    if ((await tryPort(port)) !== null) return port
  }
  return (await tryPort(0)) ?? 0
}

/**
 * @param {number} port
 * @returns {Promise<number | null>} the port on which a server could listen for a moment; null: none could
 */
function tryPort(port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null))
    server.listen(port, host, () => {
      const { port: found } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(found))
    })
  })
}
