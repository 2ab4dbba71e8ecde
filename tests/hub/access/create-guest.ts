import type { TestHub } from '../create-test-hub'
import type { Member } from './requesters'

/** Returns the path of the stylesheet. */
export const findStylesheet = async (hub: TestHub): Promise<string> => {
  const html = await (await hub.fetch('/')).text()
  return /\/assets\/[\w.-]+\.css/.exec(html)?.[0] ?? ''
}

/** Registers an account without a key, which makes it a guest. */
export async function registerGuest(
  call: (
    path: string,
    options: { body: unknown },
  ) => Promise<{ account: { id: string; api_key: string } }>,
): Promise<Member> {
  const { account: agent } = await call('/accounts', { body: { name: 'gus' } })
  return { id: agent.id, name: 'gus', key: agent.api_key }
}
