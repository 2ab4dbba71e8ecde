import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { refInput, repository } from '../inputs'

export const triggerWorkflow = defineTool({
  name: 'trigger_workflow',
  description:
    'Start a GitHub Actions workflow that has a manual trigger (workflow_dispatch). GitHub only confirms ' +
    'the request; the run appears in the repository a moment later.',
  input: z.strictObject({
    ...repository,
    workflow: z
      .string()
      .trim()
      .regex(
        /^(\d{1,18}|[A-Za-z0-9._-]{1,200}\.ya?ml)$/,
        'Must be the file name or the id of a workflow',
      )
      .describe('File name, e.g. release.yml, or id'),
    ref: refInput.describe('Branch or tag to run it on'),
    inputs: z.record(z.string().min(1).max(100), z.string().max(10_000)).default({}),
  }),
  tier: 'destructive',
  grant: 'github:actions',
  service: () => 'github',
  isIdempotent: false,
  doing: 'starting a workflow',
  async run({ input, outside }) {
    const { owner, repo, workflow, ref, inputs } = input
    await openGithub(outside)(
      'POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches',
      {
        owner,
        repo,
        workflow_id: workflow,
        ref,
        ...(Object.keys(inputs).length > 0 && { inputs }),
      },
    )
    return { started: true, workflow, ref }
  },
})
