import {
  type FakeAnswer,
  named,
  rawArguments,
  reasonOf,
  split,
  usageOf,
  type WireEvents,
} from './fake-model-wire.ts'

export function toAnthropicEvents(answer: FakeAnswer, model: string, id: string): WireEvents {
  const usage = usageOf(answer)
  const chars = answer.pieceChars ?? 12
  const inputUsage = usage
    ? {
        input_tokens: usage.input - usage.cached - usage.written,
        cache_read_input_tokens: usage.cached,
        cache_creation_input_tokens: usage.written,
        output_tokens: 1,
      }
    : { input_tokens: 0, output_tokens: 0 }
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model, content: [] }
  const content = [
    named({
      type: 'message_start',
      message: { ...message, stop_reason: null, stop_sequence: null, usage: inputUsage },
    }),
  ]
  let index = 0
  const block = (start: unknown, deltas: unknown[]) => {
    content.push(named({ type: 'content_block_start', index, content_block: start }))
    for (const delta of deltas) content.push(named({ type: 'content_block_delta', index, delta }))
    content.push(named({ type: 'content_block_stop', index }))
    index++
  }
  if (answer.reasoning) {
    block({ type: 'thinking', thinking: '', signature: '' }, [
      ...split(answer.reasoning, chars).map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: `signed_${id}` },
    ])
  }
  if (answer.text) {
    const deltas = split(answer.text, chars).map((text) => ({ type: 'text_delta', text }))
    block({ type: 'text', text: '' }, deltas)
  }
  for (const [at, call] of (answer.calls ?? []).entries()) {
    const pieces = split(rawArguments(call), chars)
    block(
      { type: 'tool_use', id: call.id ?? `toolu_${id}_${at}`, name: call.name, input: {} },
      pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    )
  }
  const reasons = {
    stop: 'end_turn',
    'tool-calls': 'tool_use',
    length: 'max_tokens',
    'content-filter': 'refusal',
    'unheard-of': 'moon_phase',
    error: 'error',
  }
  return {
    content,
    ending: [
      named({
        type: 'message_delta',
        delta: { stop_reason: reasons[reasonOf(answer)], stop_sequence: null },
        usage: { output_tokens: usage?.output ?? 0 },
      }),
      named({ type: 'message_stop' }),
    ],
  }
}
