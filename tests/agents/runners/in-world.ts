import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { FakeRunner } from './fake-runner'
import { RunnersWorld } from './runners-world'

let objects = 0

/** Returns a test that has an object of its own. */
export const inWorld = (work: (world: RunnersWorld) => Promise<void>) => (): Promise<void> =>
  runInDurableObject(env.RUNNERS.getByName(`runners-${objects++}`), (_object, state) =>
    work(new RunnersWorld(state)),
  )

type Hello = ConstructorParameters<typeof FakeRunner>[2]

/** Returns a runner that is connected. */
export async function connect(world: RunnersWorld, name: string, hello?: Hello) {
  const runner = new FakeRunner(world, name, hello)
  await runner.connect()
  return runner
}
