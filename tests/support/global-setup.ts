import type { TestProject } from 'vitest/node'
import { startFakeModelServer } from './fake-model-server.ts'
import { startFakeService } from './fake-service.ts'

/** Starts what tests talk to over HTTP and tells them where it listens (`env.FAKE_MODEL_URL`, `env.FAKE_SERVICE_URL`). */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startFakeModelServer()
  project.provide('fakeModelUrl' as never, server.url as never)
  const service = await startFakeService()
  project.provide('fakeServiceUrl' as never, service.url as never)
  return async () => {
    await Promise.all([server.close(), service.close()])
  }
}
