// Checks of a running hub: whether it answers, its clock, providers of models, credentials, agents.
import { HubError } from '../../client/index.ts'
import { readCredentials } from '../read-credentials.mjs'
import { fail, ok, warn } from './finding.mjs'

/**
 * @typedef {import('./finding.mjs').Finding} Finding
 * @typedef {import('../../client/index.ts').HubClient} HubClient
 */

const clockDifferenceMs = 5_000
const sweepAgeSeconds = 1_800
const providerWaitMs = 5_000
const agentsShown = 10
/** Tasks wait a moment even when all is well. */
const waitingMs = 60_000

/**
 * @param {HubClient} client
 * @returns {Promise<Finding[]>} one that failed when the hub cannot be checked
 */
export async function checkHub(client) {
  const health = await checkHealth(client)
  if (health.some(({ state }) => state === 'failed')) return health
  try {
    return [
      ...health,
      ...(await checkTransfer(client)),
      ...(await checkProviders(client)),
      ...(await checkCredentials(client)),
      ...(await checkAgents(client)),
    ]
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    const fix =
      error.status === 401 || error.status === 403
        ? 'Set ROOKERY_ADMIN_KEY to the key of the hub’s admin.'
        : (error.hint ?? 'Read the log of the hub.')
    return [...health, fail('hub', error.message, fix)]
  }
}

/**
 * @param {HubClient} client
 * @returns {Promise<Finding[]>}
 */
async function checkHealth({ url }) {
  const sentAt = Date.now()
  const response = await fetch(`${url}/healthz`, {
    signal: AbortSignal.timeout(providerWaitMs),
  }).catch(() => null)
  if (response?.status !== 200) {
    const says = response ? `${url} answers ${response.status}.` : `${url} does not answer.`
    return [fail('hub', says, 'Start it with `npm start`, or set ROOKERY_URL.')]
  }
  const { sweep_age_seconds: age } = await response.json()
  const sweep =
    age !== null && age <= sweepAgeSeconds
      ? ok('hub', `${url} answers, and looked for lost work ${age} s ago.`)
      : warn('hub', `${url} answers, and has not looked for lost work.`, 'Restart the hub.')
  return [sweep, ...checkClock(response.headers.get('date'), sentAt)]
}

/**
 * Compares clocks, to the second in which the answer was made. A hub on this machine sends no time.
 * @param {string | null} date
 * @param {number} sentAt
 */
function checkClock(date, sentAt) {
  if (date === null) return []
  const now = Date.now()
  const theirs = Date.parse(date)
  const difference = Math.max(0, sentAt - 1_000 - theirs, theirs - now)
  const seconds = Math.round(difference / 1_000)
  if (difference <= clockDifferenceMs)
    return [ok('clock', 'The hub’s clock is that of this machine.')]
  const says = `The clocks of the hub and of this machine differ by ${seconds} s.`
  return [warn('clock', says, 'Set the clock of the machine that is wrong.')]
}

/**
 * Says why nothing can be written: a restore that was interrupted closes the hub until it is run again.
 * @param {HubClient} client
 * @returns {Promise<Finding[]>}
 */
async function checkTransfer(client) {
  const { transfer } = await client.call('GET /backup')
  if (!transfer) return []
  if (transfer.kind === 'restore') {
    const says = 'A restore into this hub has not finished, so nothing can be written.'
    return [fail('hub', says, 'Run the restore again, or start with an empty folder or database.')]
  }
  if (transfer.is_holding) {
    return [ok('hub', `A backup is being written. Writing goes on by ${transfer.holds_until}.`)]
  }
  const says = 'A backup was interrupted, so each write checks whether it still goes on.'
  return [warn('hub', says, 'Wait for the next look for lost work, or write the backup again.')]
}

/**
 * @param {HubClient} client
 * @returns {Promise<Finding[]>}
 */
async function checkProviders(client) {
  const { providers, offline_agents: offline } = await client.call('GET /models')
  const used = providers.filter(
    ({ agents, key_problem }) => agents.length > 0 || key_problem !== null,
  )
  const found = await Promise.all(used.map(checkProvider))
  const names = offline.length > 0 ? listAgents(offline.map(({ name }) => name)) : 'none'
  return [...found, ok('providers', `Agents with the built-in offline model: ${names}.`)]
}

/**
 * The first ones by name, and how many more there are.
 * @param {string[]} names
 */
function listAgents(names) {
  const shown = names.slice(0, agentsShown).map((name) => `@${name}`)
  const more = names.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

/**
 * @param {import('../../client/index.ts').Answer<'GET /models'>['providers'][number]} state
 * @returns {Promise<Finding>}
 */
async function checkProvider(state) {
  const { provider, title, is_ready, key_problem, key_setting, base_url, agents } = state
  const names = listAgents(agents.map(({ agent }) => agent.name))
  if (key_problem !== null) {
    const says = `The key of ${title} has not worked yet (${key_problem}), so no agent uses it.`
    return fail('providers', says, 'Test it on the page /models, or use it anyway.')
  }
  if (!is_ready) {
    const says = `${names} use ${title}, which is not set up.`
    return fail('providers', says, `Set ${key_setting}, or set it up on the page /models.`)
  }
  if (base_url === null) return ok('providers', `${title} is set up.`)
  const isReached = await fetch(base_url, { signal: AbortSignal.timeout(providerWaitMs) }).then(
    () => true,
    () => false,
  )
  if (isReached) return ok('providers', `${title} answers.`)
  const says = `${title} at ${base_url} does not answer this machine (${provider}).`
  return fail('providers', says, 'Check the address on the page /models, and the network.')
}

/**
 * @param {HubClient} client
 * @returns {Promise<Finding[]>}
 */
async function checkCredentials(client) {
  const { count, sealed: names } = await readCredentials(client)
  if (names.length === 0) return [ok('credentials', `${count} credentials are readable.`)]
  const says = `Encrypted with a key that is not the current one: ${names.join(', ')}.`
  return [fail('credentials', says, 'Set ROOKERY_VAULT_OLD_KEYS, or set the credentials again.')]
}

/**
 * Explains agents that fail, or whose tasks wait.
 * @param {HubClient} client
 * @returns {Promise<Finding[]>}
 */
async function checkAgents(client) {
  /** @type {Finding[]} */
  const found = []
  let count = 0
  /** @type {string | null} */
  let cursor = null
  do {
    /** @type {import('../../client/index.ts').Answer<'GET /system/scheduler'>} */
    const board = await client.call('GET /system/scheduler', {
      query: { limit: 200, ...(cursor !== null && { cursor }) },
    })
    if (cursor === null && board.is_paused) {
      found.push(warn('agents', 'All agents are paused.', 'Resume them on the page /scheduler.'))
    }
    const late = new Set(
      board.queue.tasks
        .filter((task) => task.waiting_ms > waitingMs)
        .map(({ agent }) => agent.name),
    )
    for (const agent of board.agents) {
      count++
      if (agent.consecutive_failures > 0 || late.has(agent.name)) {
        found.push(await explainAgent(client, agent))
      }
    }
    cursor = board.next_cursor
  } while (cursor !== null)
  return found.length > 0
    ? found
    : [ok('agents', `None of ${count} agents fails or keeps tasks waiting.`)]
}

/**
 * @param {HubClient} client
 * @param {import('../../client/index.ts').Answer<'GET /system/scheduler'>['agents'][number]} agent
 * @returns {Promise<Finding>}
 */
async function explainAgent(client, { name, consecutive_failures, tasks_waiting }) {
  const { gates } = await client.call('GET /agents/:name/why-quiet', { params: { name } })
  const closed = gates.find(({ state, gate }) => state === 'closed' && !isOfExploration(gate))
  const counts = `${consecutive_failures} failed runs in a row, ${tasks_waiting} tasks waiting`
  const says = `@${name}: ${counts}.${closed ? ` ${closed.says}` : ''}`
  return warn('agents', says, closed?.fix ?? `Read its last runs on the page /agents/${name}.`)
}

/** @param {string} gate */
const isOfExploration = (gate) => gate === 'schedule' || gate === 'exploration'
