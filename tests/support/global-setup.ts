import type { TestProject } from 'vitest/node'
import { startFakeModelServer } from './fake-model-server.ts'
import { startFakeService } from './fake-service.ts'
import { startMailServer } from './mail-server.ts'
import { startPostgres } from './postgres-server.ts'
import { startExternalServers } from './start-external-servers.ts'

/** Starts the HTTP servers of tests and provides their URLs (`env.FAKE_MODEL_URL`, `env.FAKE_SERVICE_URL`). */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startFakeModelServer()
  project.provide('fakeModelUrl' as never, server.url as never)
  const service = await startFakeService()
  project.provide('fakeServiceUrl' as never, service.url as never)
  const outside = await startExternalServers()
  project.provide('outsideUrls' as never, JSON.stringify(outside.urls) as never)
  // An existing server, with a URL such as postgres://user:password@127.0.0.1:5432/name.
  const own = process.env.ROOKERY_TEST_POSTGRES_URL
  const postgres = await startPostgres()
  project.provide('postgresUrl' as never, (own ?? postgres.url) as never)
  const mail = await startMailServer()
  project.provide('mailServer' as never, JSON.stringify(mail.ports) as never)
  return async () => {
    await Promise.all([
      mail.close(),
      server.close(),
      service.close(),
      postgres.close(),
      outside.close(),
    ])
  }
}
