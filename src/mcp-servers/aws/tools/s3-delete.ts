import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { requestAws } from '../aws-client'
import { bucketInput, keyInput, toPath } from '../inputs'

export const s3Delete = defineTool({
  name: 's3_delete',
  description:
    'Delete one object from an S3 bucket. The call also succeeds when the object does not exist. It ' +
    'cannot be undone unless the bucket keeps versions.',
  input: z.strictObject({ bucket: bucketInput, key: keyInput }),
  tier: 'destructive',
  grant: { shape: 'aws:s3:write:*', of: ({ bucket }) => `aws:s3:write:${bucket}`, isScoped: true },
  service: () => 'aws',
  isIdempotent: true,
  doing: 'deleting an object from a bucket',
  async run({ input, outside }) {
    const { bucket, key } = input
    await requestAws(outside, 's3', { method: 'DELETE', path: toPath(bucket, key) })
    return { key, deleted: true }
  },
})
