import type { FakeAnswer } from '../../tests/support/fake-model-server.ts'
import type { End } from '../profiles/profile.ts'

/** What the model provider or the hub's tools do wrong while a program works. */
export interface Case {
  name: string
  title: string
  /** Answers of the model, the last one for ever. */
  answers(call: FakeAnswer): FakeAnswer[]
  /** Whether answers follow the turns of the conversation, so that side calls of a program get none of them. */
  isByTurn?: boolean
  /** The hub's tools fail after the runner has listed them. */
  breaksTools?: boolean
  /** It ends only when the program has been silent for too long. */
  isLong?: boolean
  /** How it may end, whatever the program says. */
  ends: End[]
}

const text = 'The printer is on fire, says the ticket. It should be put out.'

export const cases: Case[] = [
  {
    name: 'good',
    title: 'a good turn with a call of a tool',
    answers: (call) => [call, { text }],
    isByTurn: true,
    ends: ['end_turn'],
  },
  {
    name: '401',
    title: 'the provider does not accept the key (401)',
    answers: () => [{ status: 401 }],
    ends: ['error', 'end_turn'],
  },
  {
    name: '429',
    title: 'the provider limits the rate (429)',
    answers: () => [{ status: 429, retryAfter: '1' }],
    ends: ['error', 'end_turn', 'silent', 'max_turn_requests'],
  },
  {
    name: '500',
    title: 'the provider fails (500)',
    answers: () => [{ status: 500 }],
    ends: ['error', 'end_turn', 'silent', 'max_turn_requests'],
  },
  {
    name: '400',
    title: 'the context is too long (400)',
    answers: () => [{ status: 400, message: 'prompt is too long: 250000 tokens > 200000 maximum' }],
    ends: ['error', 'end_turn', 'max_turn_requests'],
  },
  {
    name: 'length',
    title: 'the answer reaches its maximum',
    answers: () => [{ text, finish: 'length' }],
    ends: ['max_tokens', 'error', 'end_turn', 'max_turn_requests'],
  },
  {
    name: 'refusal',
    title: 'the provider refuses or filters',
    answers: () => [{ text: '', finish: 'content-filter' }],
    ends: ['refusal', 'error', 'end_turn', 'max_turn_requests'],
  },
  {
    name: 'hang',
    title: 'the provider never answers',
    answers: () => [{ latencyMs: 600_000 }],
    isLong: true,
    ends: ['silent', 'error'],
  },
  {
    name: 'stall',
    title: 'an answer stops in the middle',
    answers: () => [{ text, fault: 'stall' }],
    isLong: true,
    ends: ['silent', 'error', 'end_turn'],
  },
  {
    name: 'cut',
    title: 'the connection breaks in the middle of an answer',
    answers: () => [{ text, fault: 'cut' }],
    ends: ['error', 'end_turn', 'silent', 'max_turn_requests'],
  },
  {
    name: 'endless',
    title: 'the model calls tools for ever',
    answers: (call) => [call],
    ends: ['max_turn_requests'],
  },
  {
    name: 'tools',
    title: "the hub's tools fail after the runner has listed them",
    answers: () => [{ text }],
    breaksTools: true,
    ends: ['no_tools', 'error'],
  },
]
