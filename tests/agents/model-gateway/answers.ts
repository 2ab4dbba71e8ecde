import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { type FakeAnswer, toErrorEvent } from '../../support/fake-model-wire'
import { toAnthropicEvents } from '../../support/fake-wire-anthropic'
import { toChatEvents } from '../../support/fake-wire-chat'
import { toResponsesEvents } from '../../support/fake-wire-responses'

const wires = {
  'anthropic-messages': toAnthropicEvents,
  'openai-chat': toChatEvents,
  'openai-responses': toResponsesEvents,
} as const satisfies Record<ModelProtocol, unknown>

export const toEvents = (protocol: ModelProtocol, answer: FakeAnswer) =>
  wires[protocol](answer, 'the-model', 'one')

export const toStream = (protocol: ModelProtocol, answer: FakeAnswer): string => {
  const { content, ending } = toEvents(protocol, answer)
  return [...content, ...ending].join('')
}

const names = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'chat',
  'openai-responses': 'responses',
} as const

export const toError = (protocol: ModelProtocol, message: string): string =>
  toErrorEvent(names[protocol], message)
