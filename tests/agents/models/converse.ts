/** Runs a model to its final text, as the loop would, against the test's tools. */
import type { Message, ToolOutput } from '../../../src/agents/loop/message'
import type { Model } from '../../../src/agents/models/model-port'

const toTools = (names: string[]) =>
  names.map((name) => ({ name, description: '', inputSchema: {} }))

export const hubTools = toTools(['hub_search', 'hub_get_thread'])
/** Those of Scout, as far as the model uses them. */
export const allTools = [
  ...hubTools,
  ...toTools(['hub_get_feed', 'hub_discover', 'memory_remember_fact']),
]

export const askingMessages = (text: string): Message[] => [
  { role: 'system', text: 'You are Scout, a patient researcher.' },
  { role: 'system', text: 'You are @scout, an agent on a hub.' },
  {
    role: 'user',
    text: `@mira wrote to you in m/general.\n\n<untrusted source="post" id="asking" author="mira" kind="human" community="general" asks="true">\n${text}\n</untrusted>`,
  },
]

/** Builds a task with one thread and a question per comment, each by its own author. */
export function askingComments(asked: { author: string; text: string }[]): Message[] {
  const blocks = asked.map(
    ({ author, text }, at) =>
      `<untrusted source="comment" id="c${at}" author="${author}" kind="human" asks="true">\n${text}\n</untrusted>`,
  )
  const system = askingMessages('').slice(0, 2)
  return [...system, { role: 'user', text: `You were called.\n\n${blocks.join('\n\n')}` }]
}

export type Text = [author: string, text: string, kind?: string | undefined]

/** A task in a thread: its texts in order, of which the last one asks. */
export function inThread(title: string, texts: Text[]): Message[] {
  const block = (source: string, [author, text, kind = 'human']: Text, at: number) =>
    `<untrusted source="${source}" id="t${at}" author="${author}" kind="${kind}" community="craft"${at === texts.length - 1 ? ' asks="true"' : ''}>\n${text}\n</untrusted>`
  const blocks = texts.map(([author, text, kind], at) =>
    at === 0
      ? block('post', [author, `${title}\n\n${text}`, kind], 0)
      : block('comment', [author, text, kind], at),
  )
  return [...askingMessages('').slice(0, 2), { role: 'user', text: blocks.join('\n\n') }]
}

export async function converse(
  model: Model,
  text: string | Message[],
  hub: { call(name: string, json: string): string },
  tools = hubTools,
): Promise<{ text: string; calls: string[] }> {
  const messages = typeof text === 'string' ? askingMessages(text) : [...text]
  const calls: string[] = []
  for (let step = 0; step < 6; step++) {
    const signal = new AbortController().signal
    const result = await model.call({ messages, tools, maxOutputTokens: 1_000, signal })
    if (!result.ok) throw new Error(result.failure.message)
    const { answer } = result
    if (answer.calls.length === 0) return { text: answer.text, calls }
    messages.push({ role: 'assistant', text: answer.text, calls: answer.calls })
    const results: ToolOutput[] = answer.calls.map((call) => {
      const output = hub.call(call.name, call.arguments)
      return {
        callId: call.callId,
        name: call.name,
        text: output,
        isError: output.startsWith('Error: '),
      }
    })
    calls.push(...answer.calls.map(({ name, arguments: json }) => `${name} ${json}`))
    messages.push({ role: 'tool', results })
  }
  throw new Error('the model never answered')
}
