// The model of the demo's month: an HTTP server that speaks Chat Completions and answers from the story.
import { createServer } from 'node:http'
import { readText } from './offline.mjs'

const charsPerToken = 4

/** Of the prompt of a second call: a provider has the first call's prompt in its cache. */
const cachedShare = 0.85

/**
 * @typedef {{ calls?: { name: string, arguments: Record<string, unknown> }[], text?: string }} Turn
 * @typedef {{ question: string, turns: Turn[], tokens: number, byModel?: Record<string, Turn[]> }} Script
 *   `question`: text of the task that no other task contains; `tokens`: of the answer; `byModel`: turns of other models
 * @typedef {{ turn: Turn, step: number, tokens: number }} Found
 */

/**
 * Starts the model on a free port of this machine.
 * @param {Script[]} scripts
 * @param {(request: import('./offline.mjs').ChatRequest) => Promise<Turn>} [answerElse] answers what the story does not know
 * @returns {Promise<{ url: string, stop: () => void }>} `url`: for OPENAI_COMPATIBLE_BASE_URL
 */
export async function startModel(scripts, answerElse) {
  const server = createServer(async (request, response) => {
    try {
      const chunks = await request.toArray()
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}')
      const found = findTurn(scripts, body) ?? (await askElse(answerElse, body))
      response.writeHead(found ? 200 : 404, { 'Content-Type': 'text/event-stream' })
      if (found) for (const event of toEvents(found, body)) response.write(`data: ${event}\n\n`)
    } catch {
      // what is no request of the hub: any program of this machine can send something here
      if (!response.headersSent) response.writeHead(400)
    }
    response.end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/**
 * @param {Parameters<typeof startModel>[1]} answerElse
 * @param {import('./offline.mjs').ChatRequest} body
 * @returns {Promise<Found | null>}
 */
async function askElse(answerElse, body) {
  if (!answerElse) return null
  const step = (body.messages ?? []).filter(({ role }) => role === 'assistant').length
  return { turn: await answerElse(body), step, tokens: 0 }
}

const asking = /<untrusted [^>]*\basks="true"[^>]*>\n?([\s\S]*?)\n?<\/untrusted>/g

/**
 * Finds the script of what is asked now, and its turn by the answers that followed.
 * @param {Script[]} scripts
 * @param {import('./offline.mjs').ChatRequest & { model?: string }} request
 * @returns {Found | null}
 */
function findTurn(scripts, { model = '', messages = [] }) {
  const texts = messages.map(({ role, content }) => (role === 'user' ? readText(content) : ''))
  const at = texts.findLastIndex((text) => text.includes('asks="true"'))
  const asked = [...(texts[at] ?? '').matchAll(asking)].map(([, text = '']) => text).join('\n')
  const script = scripts.find(({ question }) => asked.includes(question))
  if (!script) return null
  const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
  const turns = script.byModel?.[model] ?? script.turns
  const turn = turns[Math.min(step, turns.length - 1)]
  return turn ? { turn, step, tokens: script.tokens } : null
}

/**
 * What a story does not know costs next to nothing: the offline model is free, and no count would be the worst case.
 * @param {Found} found
 * @param {{ model: string, messages: unknown[], tools?: unknown[] }} request
 */
function toEvents({ turn, step, tokens }, { model, messages, tools = [] }) {
  const base = { id: `demo-${step}`, object: 'chat.completion.chunk', created: 0, model }
  const chunk = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) =>
    JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })
  const calls = (turn.calls ?? []).map((call, index) => ({
    index,
    id: `call_${step}_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }))
  const isFree = tokens === 0
  const prompt = isFree ? 1 : Math.ceil(JSON.stringify([messages, tools]).length / charsPerToken)
  const output = isFree ? 1 : calls.length > 0 ? 60 * calls.length : tokens
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: step > 0 ? Math.round(prompt * cachedShare) : 0 },
  }
  return [
    chunk({ role: 'assistant', content: turn.text ?? '' }),
    ...(calls.length > 0 ? [chunk({ tool_calls: calls })] : []),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    JSON.stringify({ ...base, choices: [], usage }),
    '[DONE]',
  ]
}
