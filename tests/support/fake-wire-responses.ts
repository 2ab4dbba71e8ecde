import {
  type FakeAnswer,
  named,
  rawArguments,
  reasonOf,
  split,
  usageOf,
  type WireEvents,
} from './fake-model-wire.ts'

/** An item at its start, its delta events, and the item at its end. */
type Item = [start: object, middle: { type: string }[], end: object]

export function toResponsesEvents(answer: FakeAnswer, model: string, id: string): WireEvents {
  const chars = answer.pieceChars ?? 12
  const base = {
    id: `resp_${id}`,
    object: 'response',
    created_at: 1_700_000_000,
    model,
    output: [],
  }
  const content = [
    named({ type: 'response.created', response: { ...base, status: 'in_progress' } }),
  ]
  let index = 0
  const item = (...[start, middle, end]: Item) => {
    const at = { output_index: index }
    content.push(named({ type: 'response.output_item.added', ...at, item: start }))
    for (const event of middle) content.push(named({ ...at, ...event }))
    content.push(named({ type: 'response.output_item.done', ...at, item: end }))
    index++
  }
  if (answer.reasoning) item(...toReasoningItem(answer.reasoning, id, chars))
  if (answer.text) {
    const message = { type: 'message', id: `msg_${id}`, role: 'assistant', content: [] }
    const deltas = split(answer.text, chars).map((delta) => ({
      type: 'response.output_text.delta',
      item_id: message.id,
      content_index: 0,
      delta,
      logprobs: [],
    }))
    item({ ...message, status: 'in_progress' }, deltas, { ...message, status: 'completed' })
  }
  for (const [at, call] of (answer.calls ?? []).entries()) {
    const call_id = call.id ?? `call_${id}_${at}`
    const start = {
      type: 'function_call',
      id: `fc_${id}_${at}`,
      call_id,
      name: call.name,
      ...(call.namespace && { namespace: call.namespace }),
      arguments: '',
    }
    const pieces = split(rawArguments(call), chars).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      item_id: start.id,
      delta,
    }))
    item(start, pieces, { ...start, arguments: rawArguments(call), status: 'completed' })
  }
  return { content, ending: [toEnding(answer, base)] }
}

const incompleteReasons: Record<string, string> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  'unheard-of': 'moon_phase',
}

const toFailure = (base: object): string =>
  named({
    type: 'response.failed',
    sequence_number: 9,
    response: {
      ...base,
      status: 'failed',
      error: { code: 'server_error', message: 'The model gave up.' },
    },
  })

function toEnding(answer: FakeAnswer, base: object): string {
  const usage = usageOf(answer)
  const reason = reasonOf(answer)
  if (reason === 'error') return toFailure(base)
  const isComplete = reason === 'stop' || reason === 'tool-calls'
  const incomplete = { reason: incompleteReasons[reason] ?? reason }
  return named({
    type: isComplete ? 'response.completed' : 'response.incomplete',
    response: {
      ...base,
      status: isComplete ? 'completed' : 'incomplete',
      incomplete_details: isComplete ? null : incomplete,
      ...(usage && {
        usage: {
          input_tokens: usage.input,
          input_tokens_details: {
            cached_tokens: usage.cached,
            ...(usage.written ? { cache_write_tokens: usage.written } : {}),
          },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: usage.reasoning },
          total_tokens: usage.input + usage.output,
        },
      }),
    },
  })
}

function toReasoningItem(reasoning: string, id: string, chars: number): Item {
  const item_id = `rs_${id}`
  const sealed = {
    type: 'reasoning',
    id: item_id,
    encrypted_content: `sealed_${id}`,
    summary: [],
  }
  const at = { item_id, summary_index: 0 }
  return [
    sealed,
    [
      { type: 'response.reasoning_summary_part.added', ...at },
      ...split(reasoning, chars).map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        ...at,
        delta,
      })),
      { type: 'response.reasoning_summary_part.done', ...at },
    ],
    { ...sealed, summary: [{ type: 'summary_text', text: reasoning }] },
  ]
}
