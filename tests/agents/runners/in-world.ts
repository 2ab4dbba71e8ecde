import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { test } from 'vitest'
import { FakeRunner } from './fake-runner'
import { RunnersWorld } from './runners-world'

let objects = 0

/** Defines a test with an object of its own. */
export const inWorld = (title: string, work: (world: RunnersWorld) => Promise<void>): void =>
  test(title, () =>
    runInDurableObject(env.RUNNERS.getByName(`runners-${objects++}`), (_object, state) =>
      work(new RunnersWorld(state)),
    ),
  )

type Hello = ConstructorParameters<typeof FakeRunner>[2]

/** Returns a runner that is connected. */
export async function connect(world: RunnersWorld, name: string, hello?: Hello) {
  const runner = new FakeRunner(world, name, hello)
  await runner.connect()
  return runner
}
