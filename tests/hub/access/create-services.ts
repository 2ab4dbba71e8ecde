import { env } from 'cloudflare:workers'
import { externalUrls } from '../../support/external-services'
import { echo, setBehavior } from '../../support/remote-servers'
import { serviceUrl } from '../../support/services'
import { canaries } from './contents'

const fakeModelUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

interface RemoteTool {
  name: string
  hash: string
  offered_hash: string | null
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type CallModule = (method: string, path: string, body: unknown) => Promise<any>

/** Creates a service with its credential, and what rows about remote servers use. */
export async function createServices(callModule: CallModule) {
  const service = { base_url: `${serviceUrl}/api`, allow_http: true, allow_private: true }
  await callModule('PUT', '/http-services/weather', {
    ...service,
    headers: { Authorization: 'Bearer {credential}' },
    credential: 'weather-key',
  })
  await callModule('PUT', '/credentials/weather-key', {
    value: canaries.credential,
    service: 'weather',
  })
  const remote = {
    base_url: `${externalUrls.mcp}/everything`,
    description: 'The reference server.',
    allow_http: true,
    allow_private: true,
  }
  const signIn = { name: 'signin', base_url: `${externalUrls.oauth}/mcp/signin` }
  await callModule('POST', '/remote-servers', { ...remote, ...signIn })
  const refreshServer = async (server: string): Promise<RemoteTool | undefined> => {
    await callModule('POST', `/remote-servers/${server}/refresh`, {})
    const path = `/remote-servers/${server}/tools/echo`
    const answer: { remote_tool: RemoteTool } = await callModule('GET', path, undefined)
    return answer.remote_tool
  }
  /** Returns the hash of the tool echo that a remote server offers. */
  const readToolHash = async (server: string) => (await refreshServer(server))?.hash ?? ''
  /** Adds a remote server whose tool echo changed after it was mapped. Returns the hash to accept. */
  const offerChange = async (name: string) => {
    await setBehavior(name, { tools: [echo] })
    const url = `${externalUrls.mcp}/hostile/${name}`
    await callModule('POST', '/remote-servers', { ...remote, name, base_url: url })
    const mapped = { grant: `${name}:use`, tier: 'write' }
    await callModule('PUT', `/remote-servers/${name}/tools/echo`, mapped)
    await setBehavior(name, { tools: [{ ...echo, description: 'Says it twice.' }] })
    return (await refreshServer(name))?.offered_hash ?? ''
  }
  return { service, remote, readToolHash, offerChange, modelUrl: `${fakeModelUrl}/v1` }
}
