// `npm run build`: bundles the Worker, so that a later start writes nothing to the checkout.
import { buildWorker } from './build-worker.mjs'
import { runCli } from './run-cli.mjs'

await runCli(async () => {
  console.log(await buildWorker())
})
