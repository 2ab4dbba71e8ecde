import {
  bare,
  type FakeAnswer,
  rawArguments,
  reasonOf,
  split,
  usageOf,
  type WireEvents,
} from './fake-model-wire.ts'

const toReasoning = (field = 'reasoning_content', text: string) => ({
  [field]: field.endsWith('_details') ? [{ type: 'reasoning.text', text }] : text,
})

export function toChatEvents(answer: FakeAnswer, model: string, id: string): WireEvents {
  const usage = usageOf(answer)
  const chars = answer.pieceChars ?? 12
  const chunk = (delta: unknown, finish: string | null = null) =>
    bare({
      id: `chatcmpl-${id}`,
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  const content = [chunk({ role: 'assistant', content: '' })]
  for (const piece of split(answer.reasoning ?? '', chars))
    content.push(chunk(toReasoning(answer.reasoningField, piece)))
  for (const piece of split(answer.text ?? '', chars)) content.push(chunk({ content: piece }))
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const first = { index, id: call.id ?? `call_${id}_${index}`, type: 'function' }
    content.push(
      chunk({ tool_calls: [{ ...first, function: { name: call.name, arguments: '' } }] }),
    )
    for (const piece of split(rawArguments(call), chars)) {
      content.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
    }
  }
  const reasons = {
    stop: 'stop',
    'tool-calls': 'tool_calls',
    length: 'length',
    'content-filter': 'content_filter',
    'unheard-of': 'moon_phase',
    error: 'error',
  }
  const ending = [chunk({}, reasons[reasonOf(answer)])]
  if (usage) {
    ending.push(
      bare({
        id: `chatcmpl-${id}`,
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model,
        choices: [],
        usage: {
          prompt_tokens: usage.input,
          completion_tokens: usage.output,
          total_tokens: usage.input + usage.output,
          ...(answer.hits
            ? { prompt_cache_hit_tokens: usage.cached }
            : {
                prompt_tokens_details: {
                  cached_tokens: usage.cached,
                  ...(usage.written ? { cache_write_tokens: usage.written } : {}),
                },
              }),
          completion_tokens_details: { reasoning_tokens: usage.reasoning },
        },
      }),
    )
  }
  return { content, ending: [...ending, 'data: [DONE]\n\n'] }
}
