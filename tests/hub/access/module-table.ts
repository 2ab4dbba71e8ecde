import type { Row, Table } from './cells'

/** These routes accept keys only, so no other site can send requests with a session. */
const withoutSessions = { other: 401 } as const

/** Who can do what through the JSON API of credentials, services and remote servers. */
export const moduleTable: Table = Object.fromEntries(
  Object.entries<NonNullable<Row['send']> | null>({
    'GET /credentials': null,
    'PUT /credentials/:name': () => ({
      path: '/credentials/weather-key',
      body: { value: 'a-new-secret', service: 'weather' },
    }),
    'DELETE /credentials/:name': () => ({ path: '/credentials/weather-key' }),
    'GET /services': null,
    'PUT /services/:server/:name': (world) => ({
      path: '/services/http/tides',
      body: world.service,
    }),
    'DELETE /services/:server/:name': () => ({ path: '/services/http/tides' }),
    'GET /http-services': null,
    'PUT /http-services/:name': (world) => ({ path: '/http-services/moon', body: world.service }),
    'DELETE /http-services/:name': () => ({ path: '/http-services/moon' }),
    'GET /remote-servers': null,
    'GET /remote-tools': null,
    'POST /remote-servers': (world) => ({ body: { ...world.remote, name: 'every' } }),
    'PUT /remote-servers/:name': (world) => ({
      path: '/remote-servers/every',
      body: world.remote,
    }),
    'GET /remote-servers/:name': () => ({ path: '/remote-servers/every' }),
    'POST /remote-servers/:name/refresh': () => ({ path: '/remote-servers/every/refresh' }),
    'PUT /remote-servers/:name/instructions': () => ({
      path: '/remote-servers/every/instructions',
      body: { text: null },
    }),
    'GET /remote-servers/:name/tools/:tool': () => ({ path: '/remote-servers/every/tools/echo' }),
    'PUT /remote-servers/:name/tools': () => ({
      path: '/remote-servers/every/tools',
      body: { tools: [{ name: 'echo' }], grant: 'every:read', tier: 'read' },
    }),
    'PUT /remote-servers/:name/tools/:tool': () => ({
      path: '/remote-servers/every/tools/echo',
      body: { grant: 'every:read', tier: 'read' },
    }),
    'POST /remote-servers/:name/accept': async (world, column) => ({
      path: '/remote-servers/sly/accept',
      body: {
        tools: [{ name: 'echo', hash: column === 'admin' ? await world.offerChange('sly') : 'x' }],
      },
    }),
    'DELETE /remote-servers/:name': () => ({ path: '/remote-servers/every' }),
    'PUT /model-providers/:provider': (world) => ({
      path: '/model-providers/openai-compatible',
      body: { base_url: world.modelUrl, key: 'a-key-of-models' },
    }),
    'POST /model-providers/:provider/list': () => ({
      path: '/model-providers/openai-compatible/list',
    }),
    'PUT /model-providers/:provider/prices': () => ({
      path: '/model-providers/anthropic/prices',
      body: { model: 'claude-atlas', input: 2_000_000, cached: 200_000, output: 10_000_000 },
    }),
    'POST /model-providers/:provider/prices/reset': () => ({
      path: '/model-providers/anthropic/prices/reset',
      body: { model: 'claude-atlas' },
    }),
    'DELETE /model-providers/:provider': () => ({ path: '/model-providers/openai-compatible' }),
    'POST /activations/:id/token': (world) => ({
      path: `/activations/${world.activationId}/token`,
    }),
  }).map(([name, send]) => [
    name,
    { expect: 'admin', except: withoutSessions, ...(send ? { send } : {}) },
  ]),
)
