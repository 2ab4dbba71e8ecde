// Servers of models on this machine. Any program can listen on these ports, so what answers is bounded, and everything
// but a list of models counts as nothing.

/** Where servers of models listen unless they are told otherwise. */
export const usualServers = [
  { name: 'Ollama', port: 11434 },
  { name: 'LM Studio', port: 1234 },
  { name: 'llama.cpp', port: 8080 },
  { name: 'vLLM', port: 8000 },
]

/** A page waits for the search. */
const searchMs = 300
const bytesMax = 256 * 1024
const modelsMax = 50
/** Models that do not chat come last. */
const otherKinds = /embed|rerank|whisper|tts|\bclip\b/i

/**
 * @typedef {object} LocalServer
 * @property {string} name
 * @property {string} base_url of the Chat Completions API
 * @property {string[]} models at least one
 */

/**
 * Asks all servers at once.
 * @param {{ name: string, port: number }[]} [servers]
 * @param {number} [patienceMs] for each of them
 * @returns {Promise<LocalServer[]>} those that answer in time with a list of models
 */
export async function findLocalModels(servers = usualServers, patienceMs = searchMs) {
  const found = await Promise.all(servers.map((server) => findServer(server, patienceMs)))
  return found.filter((server) => server !== null)
}

/**
 * Describes the model that agents use unless their definition names one; in place of the offline one, what is on this
 * machine.
 * @param {string | undefined} used
 * @param {string} address of the hub
 * @param {() => Promise<LocalServer[]>} search
 */
export async function describeModels(used, address, search) {
  if (used !== undefined && !used.startsWith('offline/')) {
    return `${used}, unless a definition names another`
  }
  const found = await search()
  const names = found.map(({ name, models }) => `${name} with ${models.slice(0, 3).join(', ')}`)
  return names.length > 0
    ? `on this machine: ${names.join('; ')}. Use one with a click at ${address}/models`
    : `the built-in offline model: no key, no network, no cost. For a real one open ${address}/models`
}

/**
 * @param {{ name: string, port: number }} server
 * @param {number} patienceMs
 * @returns {Promise<LocalServer | null>}
 */
async function findServer({ name, port }, patienceMs) {
  const origin = `http://127.0.0.1:${port}`
  const signal = AbortSignal.timeout(patienceMs)
  const [models, tags] = await Promise.all([
    readNames(`${origin}/v1/models`, 'data', 'id', signal),
    // Ollama lists its models under a path of its own, too
    name === 'Ollama' ? readNames(`${origin}/api/tags`, 'models', 'name', signal) : [],
  ])
  const names = models.length > 0 ? models : tags
  return names.length === 0 ? null : { name, base_url: `${origin}/v1`, models: names }
}

/**
 * @param {string} url
 * @param {string} list the field with the list
 * @param {string} field the field of each entry with its name
 * @param {AbortSignal} signal ends the reading, too
 * @returns {Promise<string[]>} none for any other answer
 */
async function readNames(url, list, field, signal) {
  try {
    const response = await fetch(url, { redirect: 'error', signal })
    const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '')
    const text = response.ok && isJson ? await readText(response) : null
    await response.body?.cancel().catch(() => {})
    return text === null ? [] : toNames(JSON.parse(text)?.[list], field)
  } catch {
    return []
  }
}

/**
 * @param {unknown} entries
 * @param {string} field
 */
function toNames(entries, field) {
  if (!Array.isArray(entries)) return []
  const names = entries.map((entry) => entry?.[field]).filter(isName)
  const kept = [...new Set(names)].slice(0, modelsMax)
  return kept.toSorted((a, b) => Number(otherKinds.test(a)) - Number(otherKinds.test(b)))
}

/** @param {unknown} name */
const isName = (name) => typeof name === 'string' && /^[\x21-\x7e]{1,120}$/.test(name)

/**
 * @param {Response} response
 * @returns {Promise<string | null>} null for a longer one
 */
async function readText(response) {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) return null
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}
