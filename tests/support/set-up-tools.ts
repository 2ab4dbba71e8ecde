import { expect } from 'vitest'
import type { CallPolicy } from '../../src/hub/contract/hub'
import type { ToolCaller } from '../../src/mcp-servers/contract/tools'
import type { Connect } from '../../src/mcp-servers/credentials/connection'
import { createGateway } from '../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../src/mcp-servers/servers'
import { fakeConnect } from './fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from './fake-hub-api'
import { fakeMemory } from './fake-memory'
import { testFileStores } from './file-stores'

/** Sets up the real gateway and tools with a fake hub. Returns helpers to call them. */
export function setUpTools(policy: Partial<CallPolicy> = {}, connect: Connect = fakeConnect) {
  const whole = { requested: ['*'], allowed: ['*'], denied: [], ...policy }
  const hub = createFakeHubApi(whole)
  const gateway = createGateway({
    ...testFileStores,
    hub: hub.hubApi,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers,
    connect,
  })
  const call = (tool: string, args: unknown, caller: ToolCaller = scoutAtWork) =>
    gateway.call(
      caller,
      { callId: 'call-1', tool, arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  const answer = async (tool: string, args: unknown, caller?: ToolCaller) => {
    const result = await call(tool, args, caller)
    expect(result.isError, result.text).toBe(false)
    return JSON.parse(result.text)
  }
  const names = () => gateway.list(scoutAtWork, whole).map(({ name }) => name)
  const asked = (method: string) => hub.calls.filter((each) => each.method === method)
  return { ...hub, gateway, call, answer, names, asked }
}
