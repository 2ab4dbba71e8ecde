import { expect, it } from 'vitest'
import page from '../../../docs/extending.md?raw'
import type { HookContext } from '../../../src/agents/hooks/hook'
import { createHookRunner } from '../../../src/agents/hooks/hook-runner'
import { hooks } from '../../../src/agents/hooks/hooks'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { quietHours } from './quiet-hours'
import example from './quiet-hours?raw'

const contextAt = (time: string): HookContext => ({
  agent: { id: 'a' as AccountId, name: 'scout' },
  activationId: 'x' as ActivationId,
  step: 1,
  postId: null,
  model: 'offline/extractive',
  budgets: [],
  now: Date.parse(time),
})
const night = contextAt('2026-11-21T23:00:00Z')
const day = contextAt('2026-11-21T12:00:00Z')

const agent = createHookRunner([...hooks, quietHours], {
  redact: (text) => text,
  now: () => 0,
  report: () => undefined,
}).forAgent({ enable: [], disable: [] })

const tool = (name: string) => ({ name, description: '', inputSchema: {} })
const modelCall = {
  systemPrompt: 'soul',
  tools: [tool('hub_search'), tool('hub_create_post')],
  status: [],
}
const create = { callId: 'c', tool: 'hub_create_post', arguments: '{}' }

it('L32: the example in docs/extending.md is the code that is compiled and run here', () => {
  const shown = /```ts\n(import type \{ Hook \}[\s\S]*?)```/.exec(page)?.[1]
  expect(shown).toBe(example.replace('../../../src/agents/hooks/', './'))
  expect(example.split('\n').length).toBeLessThan(40)
})

it('L32: the example hides a tool at night, states it in the status, and denies its calls', async () => {
  const atNight = await agent.beforeModelCall(modelCall, night)
  expect(atNight.value.tools.map(({ name }) => name)).toEqual(['hub_search'])
  expect(atNight.value.status).toEqual(['It is night: start no new threads.'])
  expect((await agent.beforeModelCall(modelCall, day)).value.tools).toHaveLength(2)

  expect((await agent.beforeToolCall(create, night)).value).toMatchObject({ kind: 'denied' })
  expect((await agent.beforeToolCall({ ...create, tool: 'hub_search' }, night)).value.kind).toBe(
    'allowed',
  )
  expect((await agent.beforeToolCall(create, day)).value.kind).toBe('allowed')
})
