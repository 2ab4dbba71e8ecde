import { connectService, externalUrls } from '../../support/external-services'
import type { GithubPlan } from '../../support/github-answers'
import type { Json } from '../../support/github-shapes'
import { setUpTools } from '../../support/set-up-tools'

export const token = 'ghp_0123456789abcdef'

interface State {
  log: { method: string; path: string; authorization: string; version: string; body: Json | null }[]
  issues: Json[]
  comments: Json[]
  pulls: Json[]
  dispatches: Json[]
}

let hubs = 0

/** The tools in front of a GitHub that nobody else talks to. */
export async function setUpGithub() {
  const baseUrl = `${externalUrls.github}/hub${++hubs}-${crypto.randomUUID()}`
  const connect = await connectService({ server: 'github', baseUrl, credential: token })
  const tools = setUpTools({}, connect)
  const state = async () => (await (await fetch(`${baseUrl}/_state`)).json()) as State
  const plan = async (...plans: GithubPlan[]) =>
    void (await fetch(`${baseUrl}/_plan`, { method: 'POST', body: JSON.stringify(plans) }))
  const seed = async (path: string, ...bodies: Json[]) => {
    for (const body of bodies) {
      const headers = { authorization: `Bearer ${token}` }
      const sent = { method: 'POST', headers, body: JSON.stringify(body) }
      await (await fetch(`${baseUrl}/repos/acme/tools/${path}`, sent)).text()
    }
  }
  const ask = (tool: string, args: object = {}) =>
    tools.answer(`github_${tool}`, { owner: 'acme', repo: 'tools', ...args })
  const fail = async (tool: string, args: object = {}) => {
    const result = await tools.call(`github_${tool}`, { owner: 'acme', repo: 'tools', ...args })
    if (!result.isError) throw new Error(`${tool} did not fail: ${result.text}`)
    return result.text
  }
  return { ...tools, state, plan, seed, ask, fail }
}
