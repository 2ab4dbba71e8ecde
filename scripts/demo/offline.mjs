// The hub's offline model behind Chat Completions: it answers what the demo's story knows nothing about.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../local-state.mjs'

const note =
  '*(The script of this demo has no answer to that: this is what the offline model found.)*'

/**
 * @typedef {{ role: string, content?: unknown, tool_call_id?: string, tool_calls?: { id: string, function: { name: string, arguments: string } }[] }} ChatMessage
 * @typedef {{ messages?: ChatMessage[], tools?: { function: { name: string, description?: string, parameters?: object } }[] }} ChatRequest
 */

/** @param {unknown} content a text, or parts */
export const readText = (content) =>
  Array.isArray(content) ? content.map(({ text = '' }) => text).join('\n') : String(content ?? '')

/**
 * Builds the offline model from its source.
 * @returns {Promise<(request: ChatRequest) => Promise<import('./model.mjs').Turn>>}
 */
export async function createOfflineAnswers() {
  // wrangler brings it along; a plain start installs nothing that only builds
  const { build } = createRequire(createRequire(import.meta.url).resolve('wrangler/package.json'))(
    'esbuild',
  )
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/agents/models/offline/offline-model.ts')],
    bundle: true,
    format: 'esm',
    write: false,
    logLevel: 'silent',
  })
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  const { createOfflineModel } = await import(`data:text/javascript;base64,${code}`)
  const model = createOfflineModel()
  return async (request) => {
    const result = await model.call({
      messages: toMessages(request.messages ?? []),
      tools: (request.tools ?? []).map(({ function: tool }) => ({
        name: tool.name,
        description: tool.description ?? '',
        inputSchema: tool.parameters ?? {},
      })),
      maxOutputTokens: model.outputTokensMax,
      signal: new AbortController().signal,
    })
    const { text, calls } = result.answer
    return calls.length > 0
      ? { calls: calls.map(toCall) }
      : { text: /^\W*pass\W*$/i.test(text) ? text : `${text}\n\n${note}` }
  }
}

/** @param {{ name: string, arguments: string }} call */
const toCall = (call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })

/** @param {ChatMessage[]} messages */
function toMessages(messages) {
  /** @type {Map<string, string>} */
  const names = new Map()
  return messages.map(({ role, content, tool_calls: calls = [], tool_call_id: callId = '' }) => {
    // what the hub adds for a model joins the message before it: it would be no result any more
    const [text = ''] = readText(content).split('\n\n[status]')
    for (const { id, function: called } of calls) names.set(id, called.name)
    if (role === 'tool') {
      const result = { callId, name: names.get(callId) ?? '', text, isError: false }
      return { role, results: [result] }
    }
    if (role !== 'assistant') return { role, text }
    const requests = calls.map(({ id, function: called }) => ({ callId: id, ...called }))
    return { role, text, calls: requests }
  })
}
