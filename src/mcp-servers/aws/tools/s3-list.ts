import * as z from 'zod'
import { aws } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { requestAws } from '../aws-client'
import { awsErrors } from '../errors'
import { bucketInput, toPath } from '../inputs'
import { readTag, readTags } from '../read-xml'

export const s3List = defineTool({
  name: 's3_list',
  description:
    'List objects in an S3 bucket ordered by key: all below a prefix, or with the delimiter / one level ' +
    'with its folders. Call again with next_cursor as the cursor for more.',
  input: z.strictObject({
    bucket: bucketInput,
    prefix: z.string().max(aws.keyCharsMax).default(''),
    delimiter: z.enum(['', '/']).default(''),
    cursor: z.string().max(2_000).optional(),
    limit: z.int().min(1).max(aws.listMax).default(aws.listDefault),
  }),
  tier: 'read',
  grant: { shape: 'aws:s3:read:*', of: ({ bucket }) => `aws:s3:read:${bucket}`, isScoped: true },
  service: () => 'aws',
  isIdempotent: true,
  doing: 'listing a bucket',
  async run({ input, outside }) {
    const { bucket, prefix, delimiter, cursor, limit } = input
    const { text } = await requestAws(outside, 's3', {
      method: 'GET',
      path: toPath(bucket),
      query: {
        'list-type': '2',
        'max-keys': String(limit),
        prefix,
        ...(delimiter !== '' && { delimiter }),
        ...(cursor !== undefined && { 'continuation-token': cursor }),
      },
    })
    const xml = text ?? ''
    if (!xml.includes('<ListBucketResult')) throw awsErrors.notBucketList()
    const next = readTag(xml, 'NextContinuationToken')
    return {
      objects: readTags(xml, 'Contents').map((each) => ({
        key: readTag(each, 'Key'),
        size: Number(readTag(each, 'Size')),
        modified_at: readTag(each, 'LastModified'),
      })),
      ...(delimiter !== '' && {
        folders: readTags(xml, 'CommonPrefixes').map((each) => readTag(each, 'Prefix')),
      }),
      ...(next !== '' && { next_cursor: next }),
    }
  },
})
