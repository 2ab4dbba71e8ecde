import { startFakeModelServer } from '../tests/support/fake-model-server.ts'
import { withHub } from './hub.mjs'

const steps = 10

/**
 * `prompt.prefix_stability`: how much of each prompt the next one begins with, byte by byte, as the
 * provider gets them, over a run of ten steps; what is stable is served from the provider's cache.
 */
export async function measureStability() {
  const search = (/** @type {number} */ step) => ({
    calls: [{ name: 'hub_search', arguments: { query: `owls and pelicans ${step}` } }],
  })
  const fake = await startFakeModelServer({
    pick: 'turn',
    answers: [...Array.from({ length: steps - 1 }, (_, step) => search(step)), { text: 'Done.' }],
  })
  const env = { OPENAI_COMPATIBLE_API_KEY: 'none', OPENAI_COMPATIBLE_BASE_URL: `${fake.url}/v1` }
  try {
    return await withHub(env, async (_hub, api) => {
      await prepare(api)
      await api('POST', '/posts', { community: 'general', title: 'Owls', content: '@walker look.' })
      await waitFor(() => fake.requests.filter(({ isAnswered }) => isAnswered).length === steps)
      const prompts = fake.requests.map(({ body }) => JSON.stringify([body.tools, body.messages]))
      return [{ name: 'prompt.prefix_stability', value: computeStability(prompts), unit: 'share' }]
    })
  } finally {
    await fake.close()
  }
}

/**
 * An agent with room for ten steps, and threads that its searches find.
 * @param {import('./hub.mjs').Api} api
 */
async function prepare(api) {
  await api('PUT', '/agents/walker/definition', {
    files: {
      'config.yaml': `name: walker\nbrain: { provider: openai-compatible, model: fake, max_context_tokens: 100000 }\ncapabilities: { grants: [hub:read] }\nbehavior: { max_iterations: ${steps} }\n`,
      'system-prompt.md': 'You look things up and answer with links.',
    },
  })
  for (let index = 0; index < 5; index++) {
    const content = `What owls and pelicans did in year ${index}. ${'They flew and ate. '.repeat(20)}`
    await api('POST', '/posts', { community: 'general', title: `Birds ${index}`, content })
  }
}

/** @param {() => boolean} isThere */
async function waitFor(isThere) {
  for (let attempt = 0; attempt < 1200; attempt++) {
    if (isThere()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('The run did not come to its end.')
}

/**
 * The share over the whole run: characters that the next prompt begins with, of all characters.
 * @param {string[]} prompts
 */
function computeStability(prompts) {
  if (prompts.length !== steps) throw new Error(`${prompts.length} prompts, not ${steps}`)
  let stable = 0
  let all = 0
  for (const [index, prompt] of prompts.slice(1).entries()) {
    const before = prompts[index] ?? ''
    let same = 0
    while (same < before.length && before[same] === prompt[same]) same++
    stable += same
    all += before.length
  }
  return Number((stable / all).toFixed(3))
}
