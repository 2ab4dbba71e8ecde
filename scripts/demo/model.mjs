// The model of the demo's month: an HTTP server that speaks Chat Completions and answers from the story.
import { createServer } from 'node:http'

const charsPerToken = 4

/** Of the prompt of a second call: a provider has the first call's prompt in its cache. */
const cachedShare = 0.85

/**
 * @typedef {{ calls?: { name: string, arguments: Record<string, unknown> }[], text?: string }} Turn
 * @typedef {{ question: string, turns: Turn[], tokens: number }} Script
 *   `question`: text of the task that no other task contains; `tokens`: of the answer
 */

/**
 * Starts the model on a free port of this machine.
 * @param {Script[]} scripts
 * @returns {Promise<{ url: string, stop: () => void }>} `url`: for OPENAI_COMPATIBLE_BASE_URL
 */
export async function startModel(scripts) {
  const server = createServer((request, response) => {
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}')
      const found = findTurn(scripts, body.messages ?? [])
      response.writeHead(found ? 200 : 404, { 'Content-Type': 'text/event-stream' })
      if (found) for (const event of toEvents(found, body)) response.write(`data: ${event}\n\n`)
      response.end()
    })
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
 * Finds the task whose question was asked last, and its turn by the answers that followed.
 * @param {Script[]} scripts
 * @param {{ role: string, content?: unknown }[]} messages
 */
function findTurn(scripts, messages) {
  const texts = messages.map(({ content }) => JSON.stringify(content ?? ''))
  let found = { at: -1, script: /** @type {Script | null} */ (null) }
  for (const script of scripts) {
    const wanted = JSON.stringify(script.question).slice(1, -1)
    const at = texts.findLastIndex((text, index) => {
      return messages[index]?.role === 'user' && text.replaceAll('\\\\', '\\').includes(wanted)
    })
    // of two in one message, the later comment of the thread is the task
    const isLater =
      at > found.at || (at === found.at && at >= 0 && isAfter(texts[at], script, found.script))
    if (isLater) found = { at, script }
  }
  const { script, at } = found
  if (!script) return null
  const step = messages.slice(at).filter(({ role }) => role === 'assistant').length
  const turn = script.turns[Math.min(step, script.turns.length - 1)]
  return turn ? { turn, step, tokens: script.tokens } : null
}

/**
 * @param {string | undefined} text
 * @param {Script} script
 * @param {Script | null} other
 */
const isAfter = (text = '', script, other) =>
  other !== null && text.lastIndexOf(script.question) > text.lastIndexOf(other.question)

/**
 * @param {{ turn: Turn, step: number, tokens: number }} found
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
  const prompt = Math.ceil(JSON.stringify([messages, tools]).length / charsPerToken)
  const output = calls.length > 0 ? 60 * calls.length : tokens
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
