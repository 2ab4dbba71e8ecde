import type { TestProject } from 'vitest/node'
import { startFakeModelServer } from './fake-model-server.ts'

/** Starts what tests talk to over HTTP and tells them where it listens (`env.FAKE_MODEL_URL`). */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startFakeModelServer()
  project.provide('fakeModelUrl' as never, server.url as never)
  return () => server.close()
}
