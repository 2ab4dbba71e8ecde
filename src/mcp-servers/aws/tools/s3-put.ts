import * as z from 'zod'
import { aws } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { requestAws } from '../aws-client'
import { bucketInput, keyInput, toPath } from '../inputs'

export const s3Put = defineTool({
  name: 's3_put',
  description:
    'Write a whole text object to an S3 bucket. An object with the same key is replaced. Returns its ' +
    'etag.',
  input: z.strictObject({
    bucket: bucketInput,
    key: keyInput,
    content: z.string().max(aws.putCharsMax),
    content_type: z
      .string()
      .max(100)
      .regex(/^[\w.+-]+\/[\w.+-]+(; ?[\w-]+=[\w.-]+)?$/)
      .default('text/plain; charset=utf-8'),
  }),
  tier: 'destructive',
  grant: { shape: 'aws:s3:write:*', of: ({ bucket }) => `aws:s3:write:${bucket}`, isScoped: true },
  service: () => 'aws',
  isIdempotent: true,
  doing: 'writing an object into a bucket',
  async run({ input, outside }) {
    const { bucket, key, content, content_type } = input
    const { headers } = await requestAws(outside, 's3', {
      method: 'PUT',
      path: toPath(bucket, key),
      headers: { 'content-type': content_type },
      body: content,
    })
    return { key, etag: headers.get('etag'), version: headers.get('x-amz-version-id') }
  },
})
